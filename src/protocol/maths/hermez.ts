// alpha and beta of Hermez's powers of tau (`powersOfTau28_hez_final`), the ceremony that keys of Groth16
// here are made from. Every key of it has them, whoever contributed to that key afterwards: RISC Zero's has
// them too. docs/zk.md §13.

/** alpha; beta, imaginary parts first: six words. */
export const HERMEZ_CEREMONY = [
	"2d4d9aa7e302d9df41749d5507949d05dbea33fbb16c643b22f599a2be6df2e2",
	"14bedd503c37ceb061d8ec60209fe345ce89830a19230301f076caff004d1926",
	"0967032fcbf776d1afc985f88877f182d38480a653f2decaa9794cbc3bf3060c",
	"0e187847ad4c798374d0d6732bf501847dd68bc0e071241e0213bc7fc13db7ab",
	"304cfbd1e08a704a99f5e847d93f8c3caafddec46b7a0d379da69a4d112346a7",
	"1739c1b1a457a8c7313123d24d2f9192f896b7c63eea05a9d57f06547ad0cec8",
] as const;

/** As much of keys whose secrets everybody knows (alpha 102, beta 103): trials take them, networks do not. */
export const DEV_CEREMONY = [
	"1a4d85485021a5d352f3ba6e26ef3c61c2df7124a4693e145e1a58a9cc5af340",
	"216af6b811515dcacb4cfbebcfd1bb31d66e358eedd2f28eaec97b2934c8208d",
	"1e93c5d5e3826db6f134be26370670773e655682af85257716e506c08afa9f4d",
	"026f2a51664abd5df20806b106ae16658935d0809aa0e0ef1dd70bc2c58b5c5c",
	"23a8a7e489423bcd1b057d39505d314ab3519d6bfcf56496c5d40a74236b36f9",
	"00edec27fdfdfb0691bd86dfae9a6d2421109ae91e433761f258beb6fac2bac5",
] as const;
