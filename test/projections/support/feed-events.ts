import { ERASURE_COUNTS_NONE } from '../../../src/domain/erasure/erasure.ts';
import type { OutboxEvent } from '../../../src/domain/kernel/events.ts';

/** One of each event of a template, and of the reputation of a domain and of an organization. */

const CONTENT = { contentId: 'content-3', contentDigest: 'd' };
export const TEMPLATE: readonly OutboxEvent[] = [
  {
    type: 'TemplateCreated',
    data: { templateId: 'tpl_1', alias: 'hello', name: 'Hello', description: null, ...CONTENT },
  },
  { type: 'TemplateDraftChanged', data: { templateId: 'tpl_1', name: 'Hello', description: null, ...CONTENT } },
  { type: 'TemplatePublished', data: { templateId: 'tpl_1', version: 1, ...CONTENT } },
  { type: 'TemplateRolledBack', data: { templateId: 'tpl_1', version: 1 } },
  { type: 'TemplateDeleted', data: { templateId: 'tpl_1' } },
];

export const REPUTATION: readonly OutboxEvent[] = [
  { type: 'SendingWarned', data: { domainId: 'dom_1', measure: 'bounces', count: 12, of: 400, limitPercent: 2 } },
  { type: 'SendingSlowed', data: { domainId: 'dom_1', measure: 'bounces', count: 12, of: 280, limitPercent: 4 } },
  { type: 'SendingPaused', data: { domainId: 'dom_1', measure: 'complaints', count: 6, of: 1500, limitPercent: 0.3 } },
  { type: 'SendingReleased', data: { domainId: 'dom_1' } },
  { type: 'SendingRecovered', data: { domainId: 'dom_1' } },
];

export const REPUTATION_OF_ALL: readonly OutboxEvent[] = [
  {
    type: 'OrganizationSendingWarned',
    data: { organizationId: 'org_mine', measure: 'bounces', count: 12, of: 400, limitPercent: 2 },
  },
  {
    type: 'OrganizationSendingSlowed',
    data: { organizationId: 'org_mine', measure: 'bounces', count: 12, of: 280, limitPercent: 4 },
  },
  {
    type: 'OrganizationSendingPaused',
    data: { organizationId: 'org_mine', measure: 'complaints', count: 6, of: 1500, limitPercent: 0.3 },
  },
  { type: 'OrganizationSendingReleased', data: { organizationId: 'org_mine' } },
  { type: 'OrganizationSendingRecovered', data: { organizationId: 'org_mine' } },
];

const QUOTA = { organizationId: 'org_mine', invoiceId: 'inv_1', month: '2026-11', planId: 'free', limit: 10, used: 10 };
export const BILLING: readonly OutboxEvent[] = [
  { type: 'QuotaWarned', data: QUOTA },
  { type: 'QuotaExceeded', data: QUOTA },
  {
    type: 'InvoiceClosed',
    data: {
      ...{ organizationId: 'org_mine', invoiceId: 'inv_1', month: '2026-11', currency: 'EUR', lines: [], total: 0 },
      countedTo: { position: '', at: null },
    },
  },
];

const CHECKPOINT = {
  organizationId: 'org_mine',
  origin: 'mail.example/v1/audit/tlog/org_mine',
  vkey: 'v',
  secretId: 's',
};
export const AUDIT: readonly OutboxEvent[] = [
  { type: 'AuditKeyAdded', data: CHECKPOINT },
  { type: 'CheckpointSigned', data: { ...CHECKPOINT, size: 3, root: 'r', note: 'n' } },
  {
    type: 'CheckpointCosigned',
    data: { organizationId: 'org_mine', origin: 'mail.example/v1/audit/tlog/org_mine', size: 3, lines: [] },
  },
  {
    type: 'AuditDisputed',
    data: { organizationId: 'org_mine', origin: 'mail.example', size: 3, witness: 'north', cosignedSize: 9 },
  },
  {
    type: 'AuditReopened',
    data: {
      organizationId: 'org_mine',
      origin: 'mail.example/2',
      previousOrigin: 'mail.example',
      previous: '',
      reason: 'restored',
    },
  },
  { type: 'EarlierEventsAdopted', data: { reason: 'restored' } },
  { type: 'AuditExported', data: { organizationId: 'org_mine', from: 0, to: 3 } },
];

const ERASURE_OF_ONE = { erasureId: 'ers_1', digest: 'd' };
export const ERASURE: readonly OutboxEvent[] = [
  { type: 'ErasureRequested', data: { ...ERASURE_OF_ONE, reason: 'requested', suppress: false } },
  { type: 'PersonErased', data: { ...ERASURE_OF_ONE, counts: ERASURE_COUNTS_NONE } },
];
