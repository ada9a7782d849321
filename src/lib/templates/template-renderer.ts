/** The template language, and what a caller of `liquid.ts` needs to know about it. */

/** Values by the names of a template's variables. */
export type Values = Readonly<Record<string, unknown>>;

/** Where something is in a part's source. Both begin with 1. */
export interface TemplatePlace {
  readonly line: number;
  readonly column: number;
}

export interface TemplateProblem extends TemplatePlace {
  /** For people, without the place: `unknown filter: strip_html`. */
  readonly sentence: string;
}

/** The first use of a variable. */
export interface VariableUse extends TemplatePlace {
  readonly name: string;
}

/** What a part's source says of itself. */
export interface TemplateCheck {
  readonly problem: TemplateProblem | null;
  /** Variables that it takes from outside; empty where there is a problem. */
  readonly uses: readonly VariableUse[];
}

/** Noncharacters: Unicode keeps them for use inside a program, and they are dropped from values. */
export const OUTPUT_START = '\uFDD0';
export const OUTPUT_END = '\uFDD1';

export interface RenderOptions {
  /** BCP 47, for dates, numbers and money. */
  readonly locale: string;
  /** Values are escaped for html, and each stands between `OUTPUT_START` and `OUTPUT_END`. */
  readonly escapes: boolean;
  readonly charactersMax: number;
}

/** A template that cannot be rendered with these values. The message is for people and names the place. */
export class TemplateFailed extends Error {
  override readonly name = 'TemplateFailed';
}

export interface TemplateRenderer {
  /** Parses a source that is rendered next. Parsed sources are kept. @throws {TemplateFailed} it has a problem. */
  prepare(source: string, options: Pick<RenderOptions, 'escapes'>): void;
  /** Whether preparing and rendering have had their part of this turn of the event loop. */
  isTurnOver(): boolean;
  /**
   * @throws {TemplateFailed} it has a problem, takes too long, or its result is too large.
   */
  render(source: string, values: Values, options: RenderOptions): string;
}
