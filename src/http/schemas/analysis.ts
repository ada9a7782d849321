import { z } from 'zod';
import { type Analysis, FINDINGS_MAX } from '../../domain/analysis/analysis.ts';
import { RULE_TABLE, type RuleName } from '../../domain/analysis/rule-table.ts';
import type { ToldAnalysis } from '../../domain/ports/contents.ts';

const SCORE_MAX = 100;

export const findingShape = z.strictObject({
  rule: z.enum(Object.keys(RULE_TABLE) as [RuleName, ...RuleName[]]),
  severity: z.enum(['info', 'warning', 'error']),
  message: z.string(),
  field: z.string(),
  line: z.int().min(1).optional(),
  column: z.int().min(1).optional(),
  fix: z.string(),
});

export const analysisShape = z.strictObject({
  object: z.literal('analysis'),
  score: z.int().min(0).max(SCORE_MAX),
  verdict: z.enum(['pass', 'warn', 'fail']),
  findings: z.array(findingShape).max(FINDINGS_MAX),
  size_bytes: z.int().min(0),
});
export type AnalysisShape = z.infer<typeof analysisShape>;

/** What the answer to a send tells of the analysis that it asked for. */
export const toldAnalysisShape = analysisShape.pick({ score: true, verdict: true, findings: true });

export const showToldAnalysis = ({ score, verdict, findings }: ToldAnalysis): z.infer<typeof toldAnalysisShape> => ({
  ...{ score, verdict },
  findings: findings.map((finding) => ({ ...finding })),
});

export const showAnalysis = ({ score, verdict, findings, sizeBytes }: Analysis): AnalysisShape => ({
  ...{ object: 'analysis', score, verdict, size_bytes: sizeBytes },
  findings: findings.map((finding) => ({ ...finding })),
});
