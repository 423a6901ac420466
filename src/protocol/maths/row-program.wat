;; The inner loops of a verifier: Philox blocks, entries of a row, inner products (docs/hardware-proof.md §2, §3).
;; JavaScript has neither a 32×32→64 multiply nor vectors. Addresses are bytes, `k` counts entries and is a multiple of 16.
;; `node src/protocol/maths/row-program.test-kit.ts` assembles this file into row-program-code.ts; a test keeps the two in step.
(module
  ;; Raw draws and two rows of 65,536 entries, two bytes an entry each: 6 pages of 64 KiB.
  (memory (export "memory") 6)

  ;; `count` Philox4x32-10 blocks with counters (block + i, domain, 0, 0), 16 bytes each.
  (func (export "blocks") (param $k0 i32) (param $k1 i32) (param $block i32) (param $domain i32) (param $out i32) (param $count i32)
    (local $x0 i32) (local $x1 i32) (local $x2 i32) (local $x3 i32) (local $r0 i32) (local $r1 i32) (local $round i32)
    (local $p0 i64) (local $p1 i64)
    (loop $next
      (local.set $x0 (local.get $block))
      (local.set $x1 (local.get $domain))
      (local.set $x2 (i32.const 0))
      (local.set $x3 (i32.const 0))
      (local.set $r0 (local.get $k0))
      (local.set $r1 (local.get $k1))
      (local.set $round (i32.const 10))
      (loop $rounds
        (local.set $p0 (i64.mul (i64.extend_i32_u (local.get $x0)) (i64.const 0xd2511f53)))
        (local.set $p1 (i64.mul (i64.extend_i32_u (local.get $x2)) (i64.const 0xcd9e8d57)))
        (local.set $x0 (i32.xor (i32.xor (i32.wrap_i64 (i64.shr_u (local.get $p1) (i64.const 32))) (local.get $x1)) (local.get $r0)))
        (local.set $x1 (i32.wrap_i64 (local.get $p1)))
        (local.set $x2 (i32.xor (i32.xor (i32.wrap_i64 (i64.shr_u (local.get $p0) (i64.const 32))) (local.get $x3)) (local.get $r1)))
        (local.set $x3 (i32.wrap_i64 (local.get $p0)))
        (local.set $r0 (i32.add (local.get $r0) (i32.const 0x9e3779b9)))
        (local.set $r1 (i32.add (local.get $r1) (i32.const 0xbb67ae85)))
        (br_if $rounds (local.tee $round (i32.sub (local.get $round) (i32.const 1)))))
      (i32.store offset=0 (local.get $out) (local.get $x0))
      (i32.store offset=4 (local.get $out) (local.get $x1))
      (i32.store offset=8 (local.get $out) (local.get $x2))
      (i32.store offset=12 (local.get $out) (local.get $x3))
      (local.set $out (i32.add (local.get $out) (i32.const 16)))
      (local.set $block (i32.add (local.get $block) (i32.const 1)))
      (br_if $next (local.tee $count (i32.sub (local.get $count) (i32.const 1))))))

  ;; k signed bytes → i16 (int8).
  (func (export "bytes") (param $from i32) (param $out i32) (param $k i32)
    (loop $next
      (v128.store (local.get $out) (v128.load8x8_s (local.get $from)))
      (local.set $from (i32.add (local.get $from) (i32.const 8)))
      (local.set $out (i32.add (local.get $out) (i32.const 16)))
      (br_if $next (local.tee $k (i32.sub (local.get $k) (i32.const 8))))))

  ;; k bytes u → i16 ((u·17) >> 8) − 8 (fp8).
  (func (export "small") (param $from i32) (param $out i32) (param $k i32)
    (loop $next
      (v128.store (local.get $out)
        (i16x8.sub
          (i16x8.shr_u (i16x8.mul (v128.load8x8_u (local.get $from)) (v128.const i16x8 17 17 17 17 17 17 17 17)) (i32.const 8))
          (v128.const i16x8 8 8 8 8 8 8 8 8)))
      (local.set $from (i32.add (local.get $from) (i32.const 8)))
      (local.set $out (i32.add (local.get $out) (i32.const 16)))
      (br_if $next (local.tee $k (i32.sub (local.get $k) (i32.const 8))))))

  ;; k u16 u → i16 ((u·363) >> 16) − 181 (fp16, bf16, tf32). The shuffle takes the upper half of each 32-bit product.
  (func (export "wide") (param $from i32) (param $out i32) (param $k i32)
    (local $u v128) (local $factor v128)
    (local.set $factor (v128.const i16x8 363 363 363 363 363 363 363 363))
    (loop $next
      (local.set $u (v128.load (local.get $from)))
      (v128.store (local.get $out)
        (i16x8.sub
          (i8x16.shuffle 2 3 6 7 10 11 14 15 18 19 22 23 26 27 30 31
            (i32x4.extmul_low_i16x8_u (local.get $u) (local.get $factor))
            (i32x4.extmul_high_i16x8_u (local.get $u) (local.get $factor)))
          (v128.const i16x8 181 181 181 181 181 181 181 181)))
      (local.set $from (i32.add (local.get $from) (i32.const 16)))
      (local.set $out (i32.add (local.get $out) (i32.const 16)))
      (br_if $next (local.tee $k (i32.sub (local.get $k) (i32.const 8))))))

  ;; Σ a[i]·b[i] over k i16, modulo 2^32.
  (func (export "dot") (param $a i32) (param $b i32) (param $k i32) (result i32)
    (local $sum v128)
    (loop $next
      (local.set $sum (i32x4.add (local.get $sum) (i32x4.dot_i16x8_s (v128.load (local.get $a)) (v128.load (local.get $b)))))
      (local.set $a (i32.add (local.get $a) (i32.const 16)))
      (local.set $b (i32.add (local.get $b) (i32.const 16)))
      (br_if $next (local.tee $k (i32.sub (local.get $k) (i32.const 8)))))
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $sum)) (i32x4.extract_lane 1 (local.get $sum)))
      (i32.add (i32x4.extract_lane 2 (local.get $sum)) (i32x4.extract_lane 3 (local.get $sum))))))
