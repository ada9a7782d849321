import type { SerializedRendering } from '../../http/schemas/template.ts';
import { ApiFault } from './api.ts';

/** What is wrong with a template, and where: of what was refused, and of the analysis of what it makes. */

type Finding = SerializedRendering['analysis']['findings'][number];

export interface Problem {
  readonly severity: Finding['severity'];
  readonly sentence: string;
  readonly fix: string | null;
  /** `html` or `locales.de.html`; null: it cannot be told. */
  readonly field: string | null;
  readonly line: number;
  readonly column: number;
}

/** As publishing says it, and as rendering does. */
const PLACED = /^(?<field>\S+) line (?<line>\d+), column (?<column>\d+): (?<sentence>.*)$/s;
const PLACED_BEHIND = /^(?<field>[^\s:]+): (?<sentence>.*) \(line (?<line>\d+), column (?<column>\d+)\)$/s;

const problemOf = (told: string): Problem => {
  const { field, line, column, sentence } = (PLACED.exec(told) ?? PLACED_BEHIND.exec(told))?.groups ?? {};
  const rest = { severity: 'error', fix: null } as const;
  return field === undefined
    ? { ...rest, sentence: told, field: null, line: 1, column: 1 }
    : { ...rest, sentence: sentence ?? '', field, line: Number(line), column: Number(column) };
};

const ofFinding = ({ severity, message, fix, source }: Finding): Problem => ({
  severity,
  sentence: message,
  fix,
  field: source?.field ?? null,
  line: source?.line ?? 1,
  column: source?.column ?? 1,
});

/** Of a refusal instead of those of the analysis, which is older then. */
export const problemsOf = (error: Error | null, rendered: SerializedRendering | null): readonly Problem[] => {
  if (error === null) return (rendered?.analysis.findings ?? []).map(ofFinding);
  const details = error instanceof ApiFault ? Object.values(error.details).flat() : [];
  return (details.length === 0 ? [error.message] : details).map(problemOf);
};
