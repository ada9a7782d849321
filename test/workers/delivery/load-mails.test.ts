import { expect, test } from 'vitest';
import { formatId } from '../../../src/domain/ids.ts';
import { message } from '../../../src/domain/message/message.ts';
import type { MessageBody } from '../../../src/domain/ports/contents.ts';
import { loadMails } from '../../../src/workers/delivery/load-mails.ts';
import { createSendingDomains } from '../../../src/workers/domains/sending-domains.ts';
import { messageAccepted, recipient } from '../../support/controls/message.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { contextAt, NOW } from '../../support/specification.ts';
import { createShiftableSystem } from '../shiftable-system.ts';

const messageId = formatId('msg', new Uint8Array(16));

/** Envelope senders of what an attempt sends. */
const sendersOf = async (from: string, bounceDomain?: string): Promise<readonly string[]> => {
  const contents = createInMemoryContents();
  const secrets = createInMemorySecrets();
  await secrets.put('org_mine', 'org_mine', Buffer.alloc(32).toString('base64'));
  const body: MessageBody = {
    ...{ kind: 'message', messageId, from: { address: from }, replyTo: [], subject: 'Hello', text: 'Hello' },
    ...{ headers: {}, attachments: [], tags: [], metadata: {} },
    recipients: [{ id: 'rcp_1', kind: 'to', address: 'ann@example.org' }],
  };
  await contents.put([{ id: 'content-1', organizationId: 'org_mine', body }]);
  const accepted = messageAccepted({ messageId, recipients: [recipient('rcp_1')] });
  const state = message.evolve(message.initial, accepted, contextAt(NOW));
  if (state.status === 'absent') throw new Error('not accepted');
  const mails = await loadMails(
    {
      ...{ contents, secrets, system: createShiftableSystem(), publicUrl: () => 'https://a.test', bounceDomain },
      sendingDomains: createSendingDomains({ secrets }),
    },
    { claimed: true, message: { state, revision: 1 }, attempt: 1, recipientIds: ['rcp_1'], events: [] },
  );
  return mails.map(({ envelope }) => envelope.from);
};

test('undelivered mail comes back to this service, unless its non-ASCII sender tells that it needs SMTPUTF8', async () => {
  expect(await sendersOf('shop@example.test')).toEqual(['shop@example.test']);
  expect(await sendersOf('shop@example.test', 'b.test')).toEqual([expect.stringMatching(/^b[0-9a-v]{48}@b\.test$/)]);
  expect(await sendersOf('jörg@example.test', 'b.test')).toEqual(['jörg@example.test']);
});
