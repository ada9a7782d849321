import type { BounceCategory } from '../../domain/bounce/reply-words.ts';
import { sha256 } from '../../domain/kernel/digest.ts';
import type { Environment } from '../../domain/kernel/environment.ts';
import type { RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { MessageEvent } from '../../domain/kernel/events.ts';
import { createMemo } from '../../domain/kernel/memo.ts';
import { rowsInto } from '../rebuild-tables.ts';
import { mailboxProviderOf } from '../stats/metrics.ts';

/** Labels by which messages are found: insert-only rows in list order, one per label and message. */

/** Kinds of labels. Potentially personal values are stored as keyed digests: addresses, tags and metadata. */
export type LabelKind = 'to' | 'from' | 'tag' | 'metadata' | 'template' | 'domain' | 'provider' | 'code' | 'bounce';

export const labelOf = (kind: LabelKind, digest: string): string => `${kind}:${digest}`;

/** @param version null: any. */
export const templateLabel = (templateId: string, version: number | null): string =>
  version === null ? templateId : `${templateId}:${version}`;

/** Owner of the messages. */
interface Owner {
  readonly organizationId: string;
  readonly environment: Environment | null;
}

const ownedLabel = ({ organizationId, environment }: Owner, label: string): string =>
  `${organizationId} ${environment} ${label}`;
const keyOf = (owned: string): string => sha256(owned).readBigInt64BE().toString();

/**
 * The stored form of a label: the first 64 bits of SHA-256 over its owner and its text, which needs a third of the space of
 * the text in a table and its index.
 */
export const labelKey = (owner: Owner, label: string): string => keyOf(ownedLabel(owner, label));

/** Cached keys of frequent labels, about 100 bytes each. Computing a key costs ten times as much as a cache hit. */
const KEYS_KEPT_MAX = 5_000;
const repeated = createMemo<string>(KEYS_KEPT_MAX);
const repeatedKey = (owner: Owner, label: string): string => {
  const owned = ownedLabel(owner, label);
  return repeated(owned, () => keyOf(owned));
};

/** A row of `message_labels`. */
export interface Label {
  readonly key: string;
  readonly createdAt: string;
  readonly messageId: string;
}

export type AcceptedMessage = RecordedEvent<Extract<MessageEvent, { readonly type: 'MessageAccepted' }>>;

const templateLabels = (used: AcceptedMessage['data']['template']): readonly string[] =>
  used === undefined
    ? []
    : [null, used.version].map((version) => labelOf('template', templateLabel(used.templateId, version)));

/** Two recipients of a message may have one address: each label once. */
export const labelsOfAcceptance = ({ data, metadata }: AcceptedMessage): readonly Label[] => {
  const { occurredAt: createdAt } = metadata;
  const own = new Set([
    ...data.recipients.map(({ digest }) => labelOf('to', digest)),
    ...data.metadataDigests.map((digest) => labelOf('metadata', digest)),
  ]);
  const shared = new Set([
    labelOf('from', data.fromDigest),
    ...data.recipients.map(({ domain }) => labelOf('domain', domain)),
    ...data.recipients.map(({ domain }) => labelOf('provider', mailboxProviderOf(domain))),
    ...data.tagDigests.map((digest) => labelOf('tag', digest)),
    ...templateLabels(data.template),
  ]);
  const keys = [
    ...[...own].map((label) => labelKey(metadata, label)),
    ...[...shared].map((label) => repeatedKey(metadata, label)),
  ];
  return keys.map((key) => ({ key, createdAt, messageId: data.messageId }));
};

export type RefusalEvent = RecordedEvent<
  Extract<MessageEvent, { readonly type: 'RecipientDeferred' | 'RecipientBounced' }>
>;

interface Refusal {
  /** Codes of a reply: `550`, `5.1.1`. */
  readonly codes: readonly string[];
  /** null: it did not bounce. */
  readonly bounceClass: BounceCategory | null;
}

/** A bounce whose class is not known is one of `unknown`, as in the statistics. */
export const refusalOf = (event: RefusalEvent): Refusal => {
  const { code, enhanced } = event.data.smtp;
  return {
    codes: [...(code === 0 ? [] : [String(code)]), ...(enhanced === null ? [] : [enhanced])],
    bounceClass: event.type === 'RecipientBounced' ? (event.data.category ?? 'unknown') : null,
  };
};

const labelsIn = ({ codes, bounceClass }: Refusal): readonly string[] => [
  ...codes.map((code) => labelOf('code', code)),
  ...(bounceClass === null ? [] : [labelOf('bounce', bounceClass)]),
];

/** Those that the message does not bear yet: each once, however often it is refused. */
export const labelsOfRefusal = (
  event: RefusalEvent,
  { recipients, createdAt }: { readonly recipients: readonly Partial<Refusal>[]; readonly createdAt: string },
): readonly Label[] => {
  const { messageId } = event.data;
  const borne = recipients.flatMap(({ codes = [], bounceClass = null }) => labelsIn({ codes, bounceClass }));
  const further = new Set(labelsIn(refusalOf(event))).difference(new Set(borne));
  return [...further].map((label) => ({ key: labelKey(event.metadata, label), createdAt, messageId }));
};

export const insertLabels = rowsInto<Label>('message_labels', {
  label: 'key',
  created_at: 'createdAt',
  message_id: 'messageId',
});
