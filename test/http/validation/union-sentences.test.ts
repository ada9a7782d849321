import { expect, test } from 'vitest';
import { z } from 'zod';
import { problemsIn } from '../../../src/http/problems.ts';

test('a value that fits no branch of a union is refused with what each branch accepts', () => {
  const schema = z.strictObject({ to: z.union([z.string(), z.array(z.string())]), one: z.literal(1).or(z.literal(2)) });
  const sent = { to: 7, one: 3 };
  const { error } = schema.safeParse(sent);
  expect(problemsIn(error?.issues ?? [], sent, 'body')).toEqual([
    ['to', 'to must be a string or must be an array'],
    ['one', 'one must be one of 1 or must be one of 2'],
  ]);
  const named = z.strictObject({ to: z.union([z.string(), z.array(z.string())], 'must be an address or a list') });
  const read = named.safeParse({ to: 7 });
  expect(problemsIn(read.error?.issues ?? [], { to: 7 }, 'body')).toEqual([['to', 'to must be an address or a list']]);
});
