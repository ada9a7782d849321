import { DomainError } from '../../domain/domain-error.ts';
import type { TemplateEvent } from '../../domain/events.ts';
import { requireOwn } from '../../domain/ownership.ts';
import type { MessageContents } from '../../domain/ports/contents.ts';
import { TemplateFailed, type TemplateRenderer } from '../../domain/ports/template-renderer.ts';
import {
  createTemplate as decideCreate,
  deleteTemplate as decideDelete,
  changeDraft as decideDraft,
  publishTemplate as decidePublish,
  rollBackTemplate as decideRollBack,
  requireTemplate,
} from '../../domain/template/change-template.ts';
import { contentProblems } from '../../domain/template/check-content.ts';
import type { TemplateContent } from '../../domain/template/content.ts';
import { type RenderedTemplate, renderTemplate } from '../../domain/template/render-template.ts';
import { type ExistingTemplate, template, templateIdOf, templateStream } from '../../domain/template/template.ts';
import { exampleValues, resolveValues } from '../../domain/template/variables.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Condition, type Executed, execute, load } from '../execute.ts';
import { newContent, templateContent, withLayouts } from './template-content.ts';

/** The life of a template. Templates are shared by live and test keys, so their events have no environment. */

export interface ChangedTemplate {
  readonly template: ExistingTemplate;
  readonly revision: number;
}

interface Change extends Condition {
  readonly templateId: string;
  readonly contents?: readonly MessageContents[];
  decide(state: Parameters<typeof decideDelete>[0]): readonly TemplateEvent[];
}

const change = async (
  context: CommandContext,
  origin: Origin,
  { templateId, contents, decide, ...condition }: Change,
): Promise<ChangedTemplate> => {
  const { state, revision }: Executed<Parameters<typeof decideDelete>[0], TemplateEvent> = await execute(context, {
    aggregate: template,
    stream: templateStream(templateId),
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    decide,
    ...(contents === undefined ? {} : { contents }),
    ...condition,
  });
  return { template: requireOwn(state, origin.organizationId, 'template'), revision: Number(revision) };
};

export interface About {
  readonly name: string;
  readonly description: string | null;
}

/** @throws {DomainError} `resource_conflict`: the alias is taken. */
export const createTemplate = async (
  context: CommandContext,
  origin: Origin,
  { alias, name, description, content }: About & { readonly alias: string; readonly content: TemplateContent },
): Promise<ChangedTemplate> => {
  const templateId = templateIdOf(origin.organizationId, alias);
  const { ref, contents } = newContent(context, origin.organizationId, content);
  return change(context, origin, {
    templateId,
    contents,
    decide: (state) => decideCreate(state, { templateId, alias, name, description, ...ref }),
  });
};

interface Existing extends Condition {
  readonly templateId: string;
}

/** @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`. */
export const changeDraft = async (
  context: CommandContext,
  origin: Origin,
  { name, description, content, ...existing }: Existing & About & { readonly content: TemplateContent },
): Promise<ChangedTemplate> => {
  const { organizationId } = origin;
  const { ref, contents } = newContent(context, organizationId, content);
  return change(context, origin, {
    ...existing,
    contents,
    decide: (state) => decideDraft(state, { organizationId, name, description, ...ref }),
  });
};

/** @throws {DomainError} `template_invalid` naming the parts, with line and column. */
const requireSound = (renderer: TemplateRenderer, content: TemplateContent): void => {
  const details = contentProblems(renderer, content);
  if (Object.keys(details).length === 0) return;
  throw new DomainError('template_invalid', 'the template cannot be published', { details });
};

/** The draft with the values of its examples, where all required ones have one; null: some have none. */
const tryExamples = (renderer: TemplateRenderer, content: TemplateContent): RenderedTemplate | null => {
  const { values, problems } = resolveValues(content.variables, exampleValues(content.variables));
  if (Object.keys(problems).length > 0) return null;
  try {
    return renderTemplate(renderer, content, { values, locale: null });
  } catch (error) {
    if (!(error instanceof TemplateFailed)) throw error;
    const details = { variables: [`with the values of the examples, ${error.message}`] };
    throw new DomainError('template_invalid', 'the template cannot be published', { details });
  }
};

export interface PublishedTemplate extends ChangedTemplate {
  /** The new version with the values of its examples; null: some variable has none. */
  readonly example: RenderedTemplate | null;
}

/**
 * Makes the draft the next version.
 * @throws {DomainError} `template_invalid`, `resource_conflict`, `not_found`, `precondition_failed`.
 */
export const publishTemplate = async (
  context: CommandContext & { readonly templateRenderer: TemplateRenderer },
  origin: Origin,
  existing: Existing,
): Promise<PublishedTemplate> => {
  const { organizationId } = origin;
  const { templateRenderer: renderer } = context;
  const loaded = await load(context.store, template, templateStream(existing.templateId));
  const before = requireTemplate(loaded.state, organizationId);
  if (before.draft === null) throw new DomainError('resource_conflict', 'the template has no draft to publish');
  const draft = await templateContent(context.contents, before.draft);
  requireSound(renderer, draft);
  const content = await withLayouts(context, before, draft);
  const example = tryExamples(renderer, content);
  const { ref, contents } = newContent(context, organizationId, content);
  const changed = await change(context, origin, {
    ...existing,
    // The draft that was checked is the one that is published.
    atRevisions: existing.atRevisions ?? [Number(loaded.revision)],
    contents,
    decide: (state) => decidePublish(state, { organizationId, content: ref }),
  });
  return { ...changed, example };
};

/** @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`. */
export const rollBackTemplate = (
  context: CommandContext,
  origin: Origin,
  { version, ...existing }: Existing & { readonly version: number },
): Promise<ChangedTemplate> =>
  change(context, origin, {
    ...existing,
    decide: (state) => decideRollBack(state, { organizationId: origin.organizationId, version }),
  });

/** @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`. */
export const deleteTemplate = (context: CommandContext, origin: Origin, existing: Existing): Promise<ChangedTemplate> =>
  change(context, origin, { ...existing, decide: (state) => decideDelete(state, origin.organizationId) });
