// Text as HTML and SVG may hold it, in contents and in quoted attributes.

const NAMED: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

export const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => NAMED[one]!);
