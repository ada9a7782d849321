import { z } from 'zod';
import { ERROR_CATALOGUE, type ErrorCode } from '../../domain/error-catalogue.ts';

const codes = Object.keys(ERROR_CATALOGUE) as readonly ErrorCode[]; // the keys of that very object

/** Every error there is (spec §2). */
export const errorShape = z.strictObject({
  error: z.strictObject({
    message: z.string(),
    code: z.enum(codes),
    details: z.record(z.string(), z.array(z.string())).optional(),
    retry_after: z.number().int().optional(),
  }),
});
