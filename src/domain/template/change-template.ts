import { requireOwn } from '../kernel/aggregate.ts';
import { DomainError } from '../kernel/errors.ts';
import type { TemplateEvent } from '../kernel/events.ts';
import type { ExistingTemplate, Template, TemplateContentRef, TemplateVersion } from './template.ts';

/** Maximum versions of a template. Higher: more memory, because senders fold its stream and hold its state. */
const VERSIONS_MAX = 1_000;

export interface CreateTemplate extends TemplateContentRef {
  readonly templateId: string;
  readonly alias: string;
  readonly name: string;
  readonly description: string | null;
}

/** @throws {DomainError} `resource_conflict` if the organization has a template with this alias. */
export const createTemplate = (state: Template, command: CreateTemplate): readonly TemplateEvent[] => {
  if (state.status !== 'absent' && state.status !== 'deleted') {
    throw new DomainError('resource_conflict', `template '${command.alias}' exists already: change its draft`);
  }
  return [{ type: 'TemplateCreated', data: { ...command } }];
};

/**
 * Returns the organization's template unless it was deleted.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const requireTemplate = (state: Template, organizationId: string): ExistingTemplate => {
  const existing = requireOwn(state, organizationId, 'template');
  if (existing.status === 'deleted') throw new DomainError('not_found', 'template not found');
  return existing;
};

/**
 * Returns the template even if it was deleted, provided it has versions, because messages refer to them.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const requireVersions = (state: Template, organizationId: string): ExistingTemplate => {
  const existing = requireOwn(state, organizationId, 'template');
  return existing.versions.length > 0 ? existing : requireTemplate(state, organizationId);
};

/** @throws {DomainError} `not_found` if the version does not exist. */
export const requireVersion = ({ versions }: ExistingTemplate, version: number): TemplateVersion => {
  const found = versions.find((each) => each.version === version);
  if (found === undefined) throw new DomainError('not_found', `version ${version} of the template not found`);
  return found;
};

export interface ChangeDraft extends TemplateContentRef {
  readonly organizationId: string;
  readonly name: string;
  readonly description: string | null;
}

/**
 * Changes the draft. Sends still use the published version.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const changeDraft = (state: Template, { organizationId, ...change }: ChangeDraft): readonly TemplateEvent[] => {
  const existing = requireTemplate(state, organizationId);
  const newest = existing.draft ?? existing.versions.at(-1);
  const isSame =
    newest?.contentDigest === change.contentDigest &&
    existing.name === change.name &&
    existing.description === change.description;
  if (isSame) return [];
  return [{ type: 'TemplateDraftChanged', data: { templateId: existing.templateId, ...change } }];
};

export interface PublishTemplate {
  readonly organizationId: string;
  /** The compiled draft. */
  readonly content: TemplateContentRef;
}

/** @throws {DomainError} `resource_conflict` if there is no draft or there are too many versions; `not_found`. */
export const publishTemplate = (
  state: Template,
  { organizationId, content }: PublishTemplate,
): readonly TemplateEvent[] => {
  const existing = requireTemplate(state, organizationId);
  if (existing.draft === null) throw new DomainError('resource_conflict', 'the template has no draft to publish');
  if (existing.versions.length >= VERSIONS_MAX) {
    throw new DomainError('resource_conflict', `the template has ${VERSIONS_MAX} versions: create another`);
  }
  const version = existing.versions.length + 1;
  return [{ type: 'TemplatePublished', data: { templateId: existing.templateId, version, ...content } }];
};

/** @throws {DomainError} `not_found`. */
export const rollBackTemplate = (
  state: Template,
  { organizationId, version }: { readonly organizationId: string; readonly version: number },
): readonly TemplateEvent[] => {
  const existing = requireTemplate(state, organizationId);
  requireVersion(existing, version);
  if (existing.publishedVersion === version) return [];
  return [{ type: 'TemplateRolledBack', data: { templateId: existing.templateId, version } }];
};

/**
 * Deletes a template. Its versions stay readable for messages that refer to them.
 * @throws {DomainError} `not_found`.
 */
export const deleteTemplate = (state: Template, organizationId: string): readonly TemplateEvent[] => {
  const { templateId } = requireTemplate(state, organizationId);
  return [{ type: 'TemplateDeleted', data: { templateId } }];
};
