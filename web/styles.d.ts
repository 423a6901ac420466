// Style sheets are bundled by scripts/build-web.ts; importing one says that a page needs it.
declare module "*.css";
