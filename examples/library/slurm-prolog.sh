#!/bin/bash
# slurm.conf: Prolog=/etc/slurm/assay-prolog.sh. A node whose GPUs are not what its partition promises gets no
# job: Slurm drains it; the reason is in slurmd's log and in $ASSAY_STATE/reason. A quick probe takes some ten
# seconds; one that passed holds for ASSAY_EVERY_MIN minutes, for short jobs in a row.
set -u
: "${ASSAY_EXPECT:=8xH100}"                # what this node must be
: "${ASSAY_EVERY_MIN:=60}"
: "${ASSAY_STATE:=/var/lib/assay-prolog}"
export ASSAY_HOME="$ASSAY_STATE"           # the verifier's key of this node

mkdir -p "$ASSAY_STATE" || exit 1
file="$ASSAY_STATE/last.assay"
if [ -n "$(find "$file" -mmin "-$ASSAY_EVERY_MIN" 2>/dev/null)" ]; then exit 0; fi

said=$(assay probe local --quick --expect "$ASSAY_EXPECT" --out "$file.new" 2>"$ASSAY_STATE/errors")
if [ $? -eq 0 ]; then mv "$file.new" "$file"; exit 0; fi
{ printf '%s\n' "$said"; grep '^assay: ' "$ASSAY_STATE/errors"; } | grep -m 1 . | tee "$ASSAY_STATE/reason" >&2
# Whatever it was (another card, no driver, no engine): this node must not run jobs.
exit 1
