import type { SerializedRendering } from '../../http/schemas/template.ts';
import { ApiFault } from './api.ts';

/** Locates the problems of a template, from rejected requests and from the analysis of its output. */

type Finding = SerializedRendering['analysis']['findings'][number];

export interface Problem {
  readonly severity: Finding['severity'];
  readonly sentence: string;
  readonly fix: string | null;
  /** For example `html` or `locales.de.html`; null: unknown. */
  readonly field: string | null;
  readonly line: number;
  readonly column: number;
}

/** The error format that publishing and rendering share. */
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

/** Problems from a rejection replace those of the analysis, which is older. */
export const problemsOf = (error: Error | null, rendered: SerializedRendering | null): readonly Problem[] => {
  if (error === null) return (rendered?.analysis.findings ?? []).map(ofFinding);
  const details = error instanceof ApiFault ? Object.values(error.details).flat() : [];
  return (details.length === 0 ? [error.message] : details).map(problemOf);
};
