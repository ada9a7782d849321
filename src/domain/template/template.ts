import type { Aggregate } from '../kernel/aggregate.ts';
import { sha256 } from '../kernel/digest.ts';
import type { TemplateEvent } from '../kernel/events.ts';
import { formatId, isId } from '../kernel/ids.ts';
import { CATEGORIES } from '../kernel/streams.ts';

/** Reference to a content, with its digest. */
export interface TemplateContentRef {
  /** Vault id. */
  readonly contentId: string;
  /** SHA-256 of the content's JSON, in hex. */
  readonly contentDigest: string;
}

export interface TemplateVersion extends TemplateContentRef {
  readonly version: number;
  /** ISO 8601. */
  readonly publishedAt: string;
  /** Actor as in the event's metadata, such as `key:<id>`. */
  readonly publishedBy: string;
}

export interface ExistingTemplate {
  readonly status: 'draft' | 'published' | 'deleted';
  readonly templateId: string;
  readonly organizationId: string;
  readonly alias: string;
  readonly name: string;
  readonly description: string | null;
  /** Changes since the newest version; null if there are none. */
  readonly draft: TemplateContentRef | null;
  /** In order, starting with version 1. Kept when the template is deleted, because messages refer to them. */
  readonly versions: readonly TemplateVersion[];
  /** Version used by sends that name none. */
  readonly publishedVersion: number | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export type Template = { readonly status: 'absent' } | ExistingTemplate;

/** Derived from organization and alias, so that the log rejects the second of two concurrent creations. */
export const templateIdOf = (organizationId: string, idOrAlias: string): string =>
  isId('tpl', idOrAlias) ? idOrAlias : formatId('tpl', sha256(`${organizationId}\0template\0${idOrAlias}`));

/**
 * A deleted template may be created again under its alias. Its id is derived from organization and alias, so its stream
 * and its version numbers continue.
 */
export const template: Aggregate<Template, TemplateEvent> = {
  category: CATEGORIES.template,
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, occurredAt, actor }) => {
    if (event.type === 'TemplateCreated') {
      const { contentId, contentDigest, ...about } = event.data;
      return {
        ...about,
        status: 'draft',
        organizationId,
        draft: { contentId, contentDigest },
        versions: state.status === 'absent' ? [] : state.versions,
        publishedVersion: null,
        createdAt: occurredAt,
        updatedAt: occurredAt,
      };
    }
    if (state.status === 'absent') return state;
    const updatedAt = occurredAt;
    switch (event.type) {
      case 'TemplateDraftChanged': {
        const { name, description, contentId, contentDigest } = event.data;
        return { ...state, name, description, draft: { contentId, contentDigest }, updatedAt };
      }
      case 'TemplatePublished': {
        const { version, contentId, contentDigest } = event.data;
        const published = { version, contentId, contentDigest, publishedAt: occurredAt, publishedBy: actor };
        return {
          ...state,
          status: 'published',
          draft: null,
          versions: [...state.versions, published],
          publishedVersion: version,
          updatedAt,
        };
      }
      case 'TemplateRolledBack':
        return { ...state, status: 'published', publishedVersion: event.data.version, updatedAt };
      case 'TemplateDeleted':
        return { ...state, status: 'deleted', draft: null, publishedVersion: null, updatedAt };
      default:
        return event satisfies never;
    }
  },
};
