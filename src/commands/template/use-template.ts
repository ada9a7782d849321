import { LRUCache } from 'lru-cache';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import { templateStream } from '../../domain/kernel/streams.ts';
import type { Contents } from '../../domain/ports/contents.ts';
import {
  exampleValues,
  resolveValues,
  type TemplateContent,
  textualValues,
  variablesOf,
} from '../../domain/template/content.ts';
import { type RenderedTemplate, renderTemplate } from '../../domain/template/render-template.ts';
import { type Template, type TemplateVersion, template, templateIdOf } from '../../domain/template/template.ts';
import { pacedBy, type System } from '../../lib/async/async.ts';
import type { HtmlChecker } from '../../lib/html/html.ts';
import { TemplateFailed, type TemplateRenderer, type Values } from '../../lib/templates/templates.ts';
import { load } from '../execute.ts';
import { templateContent } from './template-content.ts';

/** Renders published templates for sends. Contents of versions never change, so that those in use are kept in memory. */

/** Some hundred templates of ordinary size: the others are read from the vault by each send. */
const KEPT_CHARACTERS_MAX = 20_000_000;

interface TemplateOfSend {
  /** Id or alias. */
  readonly id: string;
  /** null: the published one. */
  readonly version: number | null;
  readonly locale: string | null;
  readonly variables: Values;
}

export interface UsedTemplate {
  readonly templateId: string;
  readonly version: number;
  readonly rendered: RenderedTemplate;
}

/**
 * Renders for the sends of one request: all of them get the same version of a template.
 * @throws {DomainError} `template_not_published`, `template_variables_invalid`.
 */
export type UseTemplate = (asked: TemplateOfSend) => Promise<UsedTemplate>;

interface TemplateTools {
  readonly context: {
    readonly store: EventStore;
    readonly contents: Contents;
    readonly system: Pick<System, 'monotonicMs'>;
  };
  readonly templateRenderer: TemplateRenderer;
  readonly htmlChecker: HtmlChecker;
}

const notPublished = (field: 'id' | 'version', problem: string): DomainError =>
  new DomainError('template_not_published', 'the template cannot be sent: see details', {
    details: { [`template.${field}`]: [`template.${field} ${problem}`] },
  });

/**
 * A template is loaded once in so long: another process sends a version that was published later than that. What this
 * process publishes is forgotten at once.
 */
const LOADED_MS = 500;
const LOADED_TEMPLATES_MAX = 1_000;

export interface TemplateUses {
  /** @param values `textual`: numbers and booleans are converted to texts. Default: each must have the declared type. */
  of(organizationId: string, values?: 'typed' | 'textual'): UseTemplate;
  /** Must be called when a template has changed. */
  forget(templateId: string): void;
}

export const createTemplateUses = ({ context, templateRenderer, htmlChecker }: TemplateTools): TemplateUses => {
  const kept = new LRUCache<string, TemplateContent>({
    maxSize: KEPT_CHARACTERS_MAX,
    sizeCalculation: (content) => JSON.stringify(content).length,
  });

  const contentOf = async (version: TemplateVersion): Promise<TemplateContent> => {
    const known = kept.get(version.contentId);
    if (known !== undefined) return known;
    const content = await templateContent(context.contents, version);
    kept.set(version.contentId, content);
    return content;
  };

  const loaded = new LRUCache<string, Promise<Template>>({
    max: LOADED_TEMPLATES_MAX,
    ttl: LOADED_MS,
    perf: { now: context.system.monotonicMs },
  });

  const loadTemplate = (templateId: string): Promise<Template> => {
    const known = loaded.get(templateId);
    if (known !== undefined) return known;
    const loading = load(context.store, template, templateStream(templateId)).then(({ state }) => state);
    loaded.set(templateId, loading);
    loading.catch(() => loaded.delete(templateId));
    return loading;
  };

  const findIn = (state: Template, organizationId: string, asked: number | null): TemplateVersion => {
    if (state.status === 'absent' || state.status === 'deleted' || state.organizationId !== organizationId)
      throw notPublished('id', 'is not a template of your organization');
    const wanted = asked ?? state.publishedVersion;
    if (wanted === null) throw notPublished('id', 'is a template that is not published');
    const version = state.versions.find((each) => each.version === wanted);
    if (version === undefined) throw notPublished('version', 'is not a version of the template');
    return version;
  };

  const find = async (templateId: string, organizationId: string, asked: number | null): Promise<TemplateVersion> => {
    try {
      return findIn(await loadTemplate(templateId), organizationId, asked);
    } catch {
      loaded.delete(templateId); // another process may have published it just now
      return findIn(await loadTemplate(templateId), organizationId, asked);
    }
  };

  const of: TemplateUses['of'] = (organizationId, values = 'typed') => {
    const found = new Map<string, Promise<TemplateVersion>>();
    return async ({ id, version: asked, locale, variables }) => {
      const templateId = templateIdOf(organizationId, id);
      const key = `${templateId} ${asked}`;
      const finding = found.get(key) ?? find(templateId, organizationId, asked);
      found.set(key, finding);
      const version = await finding;
      const content = await contentOf(version);
      const { rendered } = await renderContent(templateRenderer, content, {
        variables: values === 'typed' ? variables : textualValues(variablesOf(content), variables),
        locale,
        field: 'template.variables',
      });
      await requireValidHtml(rendered, {
        templateRenderer,
        htmlChecker,
        organizationId,
        code: 'template_variables_invalid',
        field: 'template',
      });
      return { templateId, version: version.version, rendered };
    };
  };

  return { of, forget: (templateId) => loaded.delete(templateId) };
};

interface RenderContent {
  /** By name; null: the examples. */
  readonly variables: Values | null;
  readonly locale: string | null;
  /** Path of the variables in the request: `template.variables`. */
  readonly field: string;
}

interface RenderedContent {
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
    throw new DomainError(
      'template_variables_invalid',
      'the template cannot be rendered with these values: see details',
      {
        details: { [field]: [error.message] },
      },
    );
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
  throw new DomainError(code, 'with these values, the template does not produce valid html: see details', {
    details: { [field]: sentences },
  });
};
