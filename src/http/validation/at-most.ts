import { z } from 'zod';

const countOf = (value: unknown): readonly [count: number, unit: string] => {
  if (Array.isArray(value)) return [value.length, 'items'];
  return typeof value === 'object' && value !== null ? [Object.keys(value).length, 'keys'] : [0, ''];
};

/**
 * A list or an object of at most so many members. They are counted before any of them is looked at: zod's own bounds
 * come after its look at each member, and after a problem for each that is wrong.
 */
export const atMost = <Schema extends z.ZodType>(maximum: number, schema: Schema) =>
  z.preprocess((value: z.input<Schema>, context) => {
    const [count, unit] = countOf(value);
    if (count <= maximum) return value;
    context.addIssue({ code: 'custom', message: `must have at most ${maximum} ${unit}` });
    return z.NEVER;
  }, schema);
