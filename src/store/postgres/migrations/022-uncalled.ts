// A provider that answers no roll calls is listed as such, and not as absent.
export const uncalled = `
ALTER TABLE roll_call_answers DROP CONSTRAINT roll_call_answers_state_check;
ALTER TABLE roll_call_answers ADD CONSTRAINT roll_call_answers_state_check
	CHECK (state IN ('opening', 'answered', 'late', 'absent', 'wrong', 'excused', 'uncalled'));
`;
