// Answers to a roll call are written with its commitment and wait there for their openings: another process
// can carry the call on.
export const openings = `
ALTER TABLE roll_call_answers DROP CONSTRAINT roll_call_answers_state_check;
ALTER TABLE roll_call_answers ADD CONSTRAINT roll_call_answers_state_check
	CHECK (state IN ('opening', 'answered', 'late', 'absent', 'wrong', 'excused'));
`;
