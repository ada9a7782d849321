import { z } from 'zod';
import { RULE_TABLE, type RuleName } from '../../domain/analysis/rule-table.ts';

export const findingSchema = z
  .strictObject({
    rule: z.enum(Object.keys(RULE_TABLE) as [RuleName, ...RuleName[]]),
    severity: z.enum(['info', 'warning', 'error']),
    message: z.string(),
    field: z.string(),
    line: z.int().min(1).optional(),
    column: z.int().min(1).optional(),
    fix: z.string(),
  })
  .meta({ id: 'Finding' });
