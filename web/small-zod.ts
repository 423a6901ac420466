// What the API's schemas use of zod, name by name: the build puts this in the place of the package, so that languages, JSON Schema and other
// parts that a browser never calls stay out. A name that is missing here fails in the first test that opens a page.
import {
	array,
	boolean,
	discriminatedUnion,
	enum as enumOf,
	int,
	lazy,
	literal,
	null as nullOf,
	number,
	object,
	record,
	strictObject,
	string,
	union,
} from "zod/v4";

export const z = {
	array,
	boolean,
	discriminatedUnion,
	enum: enumOf,
	int,
	lazy,
	literal,
	null: nullOf,
	number,
	object,
	record,
	strictObject,
	string,
	union,
};
