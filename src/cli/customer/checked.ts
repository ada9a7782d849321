import type { z } from 'zod';
import { CommandFailed } from '../failures.ts';
import type { Answer } from './service.ts';

/** Validates the body of a response. @throws {CommandFailed} if it is not a response of Outbox. */
export const checked = <Value>(schema: z.ZodType<Value>, { body }: Pick<Answer<unknown>, 'body'>): Value => {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw new CommandFailed('the service answers something else than Outbox does');
};
