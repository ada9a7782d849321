import { hash } from 'node:crypto';
import { type CommandContext, eventContext, execute } from '../../../src/commands/execute.ts';
import { inbound, inboundId, type ReceiveInbound, receiveInbound } from '../../../src/domain/inbound/inbound.ts';
import type { Environment } from '../../../src/domain/kernel/environment.ts';
import { inboundStream } from '../../../src/domain/kernel/streams.ts';
import type { InboundBody } from '../../../src/domain/ports/contents.ts';
import { operator } from './service.ts';

const RAW = [
  'From: Ann <ann@example.net>',
  'Subject: Re: Order 42',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain',
  '',
  'Thanks!',
  '--b',
  'Content-Type: text/html; name="../evil.html"',
  'Content-Disposition: attachment; filename="../evil.html"',
  '',
  '<script>alert(1)</script>',
  '--b--',
  '',
].join('\r\n');

export interface ReceivedMail {
  readonly organizationId: string;
  readonly environment: Environment;
  readonly domainId: string;
  readonly to: string;
  readonly raw?: string;
  readonly body?: Partial<InboundBody>;
  readonly facts?: Partial<ReceiveInbound>;
}

/** Stores a received message as the listener does, without reading it. @returns its id. */
export const receive = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  { organizationId, environment, domainId, to, raw = RAW, body, facts }: ReceivedMail,
): Promise<string> => {
  const sha256 = hash('sha256', raw, 'hex');
  const id = inboundId({ organizationId, environment, recipient: to, sender: 'ann@example.net', sha256 });
  const [contentId, rawId] = [context.system.uuid(), context.system.uuid()];
  const read: InboundBody = {
    ...{ kind: 'inbound', inboundId: id, envelope: { from: 'ann@example.net', to } },
    ...{ from: [{ name: 'Ann', address: 'ann@example.net' }], to: [{ address: to }], cc: [], replyTo: [] },
    ...{ subject: 'Re: Order 42', date: 'Mon, 1 Jan 2026 10:00:00 +0000', internetMessageId: '<1@example.net>' },
    ...{ headers: [{ name: 'Subject', value: 'Re: Order 42' }], text: 'Thanks!\n\n> Hello', html: null },
    ...{ sanitizedHtml: null, reply: 'Thanks!', problems: [] },
    attachments: [{ part: 0, filename: 'evil.html', contentType: 'text/html', bytes: 25, contentId: null }],
    ...body,
  };
  const content = Buffer.from(raw).toString('base64');
  await execute(context, {
    aggregate: inbound,
    stream: inboundStream(id),
    context: eventContext({ ...operator(organizationId), environment }, context.system.now().toISOString()),
    contents: [
      { id: contentId, organizationId, body: read },
      { id: rawId, organizationId, body: { kind: 'inbound_raw', inboundId: id, content } },
    ],
    decide: (state) =>
      receiveInbound(state, {
        ...{ inboundId: id, domainId, contentId, rawId, bytes: raw.length, sha256, toDigest: 'd', fromDigests: [] },
        verdicts: { spf: 'pass', dkim: 'pass', dmarc: 'pass', arc: 'none' },
        ...{ routeId: null, action: 'webhook', webhookId: null, inReplyToMessageId: null },
        ...facts,
      }),
  });
  return id;
};
