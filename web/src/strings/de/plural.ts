import { pluralsOf } from "../plural";

export const { plural, count } = pluralsOf("de");
