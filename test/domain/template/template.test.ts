import { describe, expect, test } from 'vitest';
import { fold } from '../../../src/domain/kernel/aggregate.ts';
import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import {
  changeDraft,
  createTemplate,
  deleteTemplate,
  publishTemplate,
  rollBackTemplate,
  type Template,
  type TemplateEvent,
  template,
} from '../../../src/domain/template/template.ts';

const ORGANIZATION = 'org_1';
const FIRST = { contentId: 'content-1', contentDigest: 'aa' };
const SECOND = { contentId: 'content-2', contentDigest: 'bb' };
const ABOUT = { name: 'Welcome', description: null };
const CREATED: TemplateEvent = {
  type: 'TemplateCreated',
  data: { templateId: 'tpl_1', alias: 'welcome', ...ABOUT, ...FIRST },
};
const CHANGED: TemplateEvent = { type: 'TemplateDraftChanged', data: { templateId: 'tpl_1', ...ABOUT, ...SECOND } };
const published = (version: number, content = FIRST): TemplateEvent => ({
  type: 'TemplatePublished',
  data: { templateId: 'tpl_1', version, ...content },
});
const ROLLED_BACK: TemplateEvent = { type: 'TemplateRolledBack', data: { templateId: 'tpl_1', version: 1 } };
const DELETED: TemplateEvent = { type: 'TemplateDeleted', data: { templateId: 'tpl_1' } };

const given = (...events: readonly TemplateEvent[]): Template =>
  fold(
    template,
    events.map((event) => ({
      ...event,
      metadata: { organizationId: ORGANIZATION, actor: 'key:key_1', occurredAt: '2026-01-02T03:04:05.000Z' },
    })) as unknown as readonly RecordedEvent[],
  );

describe('a template', () => {
  const create = { templateId: 'tpl_1', alias: 'welcome', ...ABOUT, ...FIRST };

  test('begins as a draft', () => {
    expect(createTemplate(given(), create)).toEqual([CREATED]);
    expect(given(CREATED)).toMatchObject({ status: 'draft', draft: FIRST, versions: [], publishedVersion: null });
  });

  test('has a thousand versions at most', () => {
    const publish = (versions: number) => {
      const earlier = Array.from({ length: versions }, (_, at) => published(at + 1));
      const state = given(CREATED, ...earlier, CHANGED);
      return publishTemplate(state, { organizationId: ORGANIZATION, content: SECOND });
    };
    expect(publish(999)).toEqual([published(1_000, SECOND)]);
    expect(() => publish(1_000)).toThrow(
      'the template has 1000 versions, which is the maximum: create another template',
    );
  });

  test('has an alias of its own', () => {
    expect(() => createTemplate(given(CREATED), create)).toThrow("the template 'welcome' already exists");
  });

  test('becomes version 1, then version 2, each immutable', () => {
    expect(publishTemplate(given(CREATED), { organizationId: ORGANIZATION, content: FIRST })).toEqual([published(1)]);
    const events = publishTemplate(given(CREATED, published(1), CHANGED), {
      organizationId: ORGANIZATION,
      content: SECOND,
    });
    expect(events).toEqual([published(2, SECOND)]);
    expect(given(CREATED, published(1), CHANGED, ...events)).toMatchObject({
      status: 'published',
      draft: null,
      publishedVersion: 2,
      versions: [
        { version: 1, ...FIRST, publishedBy: 'key:key_1' },
        { version: 2, ...SECOND },
      ],
    });
  });

  test('that is published is sent while its draft changes', () => {
    const state = given(CREATED, published(1), CHANGED);
    expect(state).toMatchObject({ status: 'published', publishedVersion: 1, draft: SECOND });
  });

  test('is not changed by the same content', () => {
    expect(changeDraft(given(CREATED), { organizationId: ORGANIZATION, ...ABOUT, ...FIRST })).toEqual([]);
    expect(changeDraft(given(CREATED, published(1)), { organizationId: ORGANIZATION, ...ABOUT, ...FIRST })).toEqual([]);
    expect(changeDraft(given(CREATED), { organizationId: ORGANIZATION, ...ABOUT, ...SECOND })).toEqual([CHANGED]);
  });

  test('without a draft has nothing to publish', () => {
    expect(() =>
      publishTemplate(given(CREATED, published(1)), { organizationId: ORGANIZATION, content: FIRST }),
    ).toThrow('no unpublished changes');
  });

  test('goes back to an earlier version, once', () => {
    const state = given(CREATED, published(1), CHANGED, published(2, SECOND));
    expect(rollBackTemplate(state, { organizationId: ORGANIZATION, version: 1 })).toEqual([ROLLED_BACK]);
    const back = given(CREATED, published(1), CHANGED, published(2, SECOND), ROLLED_BACK);
    expect(back).toMatchObject({ publishedVersion: 1 });
    expect(rollBackTemplate(back, { organizationId: ORGANIZATION, version: 1 })).toEqual([]);
    expect(() => rollBackTemplate(back, { organizationId: ORGANIZATION, version: 3 })).toThrow('version 3');
  });

  test('that is deleted keeps its versions, and its alias may be used again', () => {
    const state = given(CREATED, published(1), DELETED);
    expect(state).toMatchObject({ status: 'deleted', publishedVersion: null, versions: [{ version: 1 }] });
    expect(() => deleteTemplate(state, ORGANIZATION)).toThrow('not found');
    const again = given(CREATED, published(1), DELETED, ...createTemplate(state, { ...create, ...SECOND }));
    expect(again).toMatchObject({ status: 'draft', draft: SECOND, versions: [{ version: 1 }] });
    expect(publishTemplate(again, { organizationId: ORGANIZATION, content: SECOND })).toEqual([published(2, SECOND)]);
  });

  test('of another organization is not found', () => {
    expect(() => deleteTemplate(given(CREATED), 'org_2')).toThrow(/not found|another organization/i);
  });
});
