import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseLeaf } from '../../../../src/domain/audit/leaf.ts';
import { describeMessage } from '../../../../src/domain/audit/report/message-sentences.ts';
import { fold } from '../../../../src/domain/kernel/aggregate.ts';
import type { MessageEvent } from '../../../../src/domain/kernel/events.ts';
import { messageEvents } from '../../../../src/domain/message/events.ts';
import { message } from '../../../../src/domain/message/message.ts';
import { NOW } from '../../../support/specification.ts';

const FIXTURES = join(import.meta.dirname, '../../../fixtures/events');
const TYPES = Object.keys(messageEvents);
const files = readdirSync(FIXTURES).filter((file) => TYPES.includes(file.split('.')[0] ?? ''));

const leafIn = (file: string) => {
  const data = JSON.parse(readFileSync(join(FIXTURES, file), 'utf8'));
  const metadata = { actor: 'key:key_1', occurredAt: NOW, organizationId: 'org_1', environment: 'live' };
  return parseLeaf(
    JSON.stringify({ data, id: file, metadata, revision: 0, stream: 'message-x', type: file.split('.')[0] }),
  );
};

const accepted = leafIn('MessageAccepted.v1.json');
const [first = ''] = (accepted.data.recipients as { id: string }[]).map(({ id }) => id);
const later = files.filter((file) => !file.startsWith('MessageAccepted')).map(leafIn);

const describeBy = (leaves: readonly (typeof accepted)[], names: ReadonlyMap<string, string>) =>
  describeMessage(leaves, String(accepted.data.messageId), names);

test('has a sentence for each event of a message, whichever fields it has', () => {
  expect(new Set(files.map((file) => file.split('.')[0]))).toEqual(new Set(TYPES));
  for (const leaf of [accepted, ...later]) {
    const sentence = describeBy([accepted, leaf], new Map()).sentenceOf(leaf);
    expect([leaf.id, sentence]).toEqual([leaf.id, expect.stringMatching(/^[A-Zr].*\.$/)]);
    expect(sentence).not.toMatch(/undefined|null|[{}]|NaN|(?<!key|rcp|msg|top|topic)_/);
  }
});

test('says who answered what, with the words that no leaf has', () => {
  const leaf = leafIn('RecipientBounced.v1.with-category.json');
  const { smtp, recipientId } = leaf.data as { smtp: { replyId: string }; recipientId: string };
  const names = new Map([
    [recipientId, 'ann@example.net'],
    [smtp.replyId, 'No such\r\n user'],
  ]);
  expect(describeBy([accepted, leaf], names).sentenceOf(leaf)).toMatch(
    /^Bounced after delivery for ann@example\.net: no mailbox, mx\.example\.net replied 550 5\.1\.1 "No such user"\.$/,
  );
});

test('states the status that the message has after each event', () => {
  for (const leaf of later) {
    const { type, data, metadata } = leaf;
    const events = [accepted, leaf].map(
      (each) => ({ ...each }) as unknown as MessageEvent & { metadata: typeof metadata },
    );
    const state = fold(message, events as never);
    const status = state.status === 'absent' ? null : state.recipients.find(({ id }) => id === first)?.status;
    const facts = describeBy([accepted, leaf], new Map()).facts;
    expect([type, data.recipientId, facts.find(({ name }) => name.endsWith(first))?.value]).toEqual([
      type,
      data.recipientId,
      status,
    ]);
  }
});
