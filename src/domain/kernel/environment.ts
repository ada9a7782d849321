import { z } from 'zod';

/** `live` sends real mail; `test` runs the same pipeline with a simulated transport (spec §5.2). */
export const environmentSchema = z.enum(['live', 'test']);
export type Environment = z.infer<typeof environmentSchema>;
