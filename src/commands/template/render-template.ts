import { DomainError } from '../../domain/kernel/errors.ts';
import { exampleValues, resolveValues, type TemplateContent, variablesOf } from '../../domain/template/content.ts';
import { type RenderedTemplate, renderTemplate } from '../../domain/template/render-template.ts';
import { pacedBy } from '../../lib/async/async.ts';
import type { HtmlChecker } from '../../lib/html/html.ts';
import { TemplateFailed, type TemplateRenderer, type Values } from '../../lib/templates/templates.ts';

export interface RenderContent {
  /** By name; null: the examples. */
  readonly variables: Values | null;
  readonly locale: string | null;
  /** Path of the variables in the request: `template.variables`. */
  readonly field: string;
}

export interface RenderedContent {
  readonly rendered: RenderedTemplate;
  /** Given, and not declared. */
  readonly unused: readonly string[];
}

/** @throws {DomainError} `template_variables_invalid` naming the variables, or what cannot be rendered. */
export const renderContent = async (
  renderer: TemplateRenderer,
  content: TemplateContent,
  { variables, locale, field }: RenderContent,
): Promise<RenderedContent> => {
  const declared = variablesOf(content);
  const { values, problems, unused } = resolveValues(declared, variables ?? exampleValues(declared));
  const wrong = Object.entries(problems);
  if (wrong.length > 0) {
    throw new DomainError('template_variables_invalid', 'the template’s variables are invalid: see details', {
      details: Object.fromEntries(
        wrong.map(([name, problem]) => [`${field}.${name}`, [`${field}.${name} ${problem}`]]),
      ),
    });
  }
  try {
    const rendering = renderTemplate(renderer, content, { values, locale });
    return { rendered: await pacedBy(renderer.isTurnOver, rendering), unused };
  } catch (error) {
    if (!(error instanceof TemplateFailed)) throw error;
    throw new DomainError('template_variables_invalid', 'the template cannot be rendered with these variables', {
      details: { [field]: [error.message] },
    });
  }
};

interface CheckedFor {
  readonly templateRenderer: TemplateRenderer;
  readonly htmlChecker: HtmlChecker;
  readonly organizationId: string;
  readonly code: 'template_invalid' | 'template_variables_invalid';
  /** Field of the request or of the template under which the refusal is listed. */
  readonly field: string;
}

/** @throws {DomainError} with this code, naming lines of the template or, if unknown, of the rendered html. */
export const requireValidHtml = async (
  { html, shape, sourceOf }: RenderedTemplate,
  { templateRenderer, htmlChecker, organizationId, code, field }: CheckedFor,
): Promise<void> => {
  const problems = await htmlChecker.check(html, organizationId, shape);
  if (problems.length === 0) return;
  const sentences: string[] = [];
  for (const { message, ...place } of problems) {
    const source = (await pacedBy(templateRenderer.isTurnOver, sourceOf('html', place))) ?? {
      ...place,
      field: 'html, as rendered,',
    };
    sentences.push(`${source.field} line ${source.line}, column ${source.column}: ${message}`);
  }
  throw new DomainError(code, 'the template makes no valid html with these values: see details', {
    details: { [field]: sentences },
  });
};
