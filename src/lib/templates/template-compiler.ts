import type { TemplateCheck, TemplateProblem } from './template-renderer.ts';

/**
 * Checks a template's sources and turns them into html when the template is published: MJML becomes html, and styles
 * are copied into the elements they apply to. Liquid tags pass through unchanged.
 */
export interface TemplateCompiler {
  /**
   * @param source Liquid. @param owner as below.
   * @throws {TemplateCompilerUnavailable}
   */
  check(source: string, owner: string): Promise<TemplateCheck>;
  /**
   * @param owner organization. Organizations with waiting work take turns.
   * @throws {TemplateCompilerUnavailable} if its turn did not come in time.
   */
  compile(source: TemplateSource, owner: string): Promise<CompiledHtml>;
  close(): Promise<void>;
}

export interface TemplateSource {
  readonly html: string;
  readonly format: 'html' | 'mjml';
  /**
   * Style sheets to write into elements besides those of the html: its layouts' own. null: styles stay where they are.
   */
  readonly inlineCss: string | null;
}

/** A task of the thread. */
export type CompileTask =
  | ({ readonly job: 'compile' } & TemplateSource)
  | { readonly job: 'check'; readonly source: string };

export type CompiledHtml = { readonly html: string } | { readonly problem: TemplateProblem };

/** A fault of ours, worth a retry. */
export class TemplateCompilerUnavailable extends Error {
  override readonly name = 'TemplateCompilerUnavailable';
}
