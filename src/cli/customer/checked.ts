import type { z } from 'zod';
import { CommandFailed } from '../failures.ts';
import type { Answer } from './service.ts';

/** The body of an answer, held against a schema. @throws {CommandFailed} it is not what Outbox answers. */
export const checked = <Value>(schema: z.ZodType<Value>, { body }: Pick<Answer<unknown>, 'body'>): Value => {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw new CommandFailed('the service answers something else than Outbox does');
};
