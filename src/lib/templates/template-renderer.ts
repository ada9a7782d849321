/** The template language, and what a caller of `liquid.ts` needs to know about it. */

/** `{% raw %}` and `{% comment %}` with their content, which is not parsed as Liquid, or a single tag. */
export const LIQUID_TAGS =
  /\{%-?\s*(raw|comment)\s*-?%\}[\s\S]*?\{%-?\s*end\1\s*-?%\}|\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}/g;

const DAY = /^(\d{4})-(\d{2})-(\d{2})/;

/**
 * False for a day that does not exist: `Date` reads 2026-02-29 as 1 March. A text that does not begin with a day is
 * true.
 */
export const isOnCalendar = (text: string): boolean => {
  const [day, year, month, ofMonth] = DAY.exec(text) ?? [];
  if (day === undefined) return true;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(ofMonth)));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(ofMonth);
};

/** Values by the names of a template's variables. */
export type Values = Readonly<Record<string, unknown>>;

/** Position in a part's source, one-based. */
export interface TemplatePlace {
  readonly line: number;
  readonly column: number;
}

export interface TemplateProblem extends TemplatePlace {
  /** Message for people, without the place: `unknown filter: strip_html`. */
  readonly sentence: string;
}

/** The first use of a variable. */
export interface VariableUse extends TemplatePlace {
  readonly name: string;
}

/** Result of checking a part's source. */
export interface TemplateCheck {
  readonly problem: TemplateProblem | null;
  /** Variables that the source needs from outside; empty if there is a problem. */
  readonly uses: readonly VariableUse[];
}

/** Noncharacters: Unicode reserves them for use inside a program, and they are dropped from values. */
export const OUTPUT_START = '\uFDD0';
export const OUTPUT_END = '\uFDD1';

interface RenderOptions {
  /** BCP 47, for dates, numbers and money. */
  readonly locale: string;
  /** Values are escaped for html, and each is enclosed in `OUTPUT_START` and `OUTPUT_END`. */
  readonly escapes: boolean;
  readonly charactersMax: number;
}

/** A template that cannot be rendered with these values. The message is for people and names the place. */
export class TemplateFailed extends Error {
  override readonly name = 'TemplateFailed';
}

export interface TemplateRenderer {
  /**
   * Parses a source ahead of its rendering. Parsed sources are cached. @throws {TemplateFailed} if it has a problem.
   */
  prepare(source: string, options: Pick<RenderOptions, 'escapes'>): void;
  /** True if preparing and rendering have used up their share of this turn of the event loop. */
  isTurnOver(): boolean;
  /** @throws {TemplateFailed} if it has a problem, takes too long, or its result is too large. */
  render(source: string, values: Values, options: RenderOptions): string;
}
