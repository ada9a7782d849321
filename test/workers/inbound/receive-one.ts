import { createInboundReader } from '../../../src/adapters/inbound/inbound-reader.ts';
import { type CommandContext, internalOrigin } from '../../../src/commands/execute.ts';
import { receiveMail } from '../../../src/commands/inbound/receive-mail.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { PASSED } from './receiving-mail.ts';

interface OneMail {
  readonly organizationId: string;
  readonly from: string;
  readonly to: string;
}

/** Records a mail that passed all checks. @returns the id of the inbound message. */
export const receiveOne = async (
  context: Pick<CommandContext, 'store' | 'secrets' | 'system'>,
  { organizationId, from, to }: OneMail,
): Promise<string> => {
  const reader = closedAfterTest(createInboundReader());
  const raw = `From: <${from}>\r\nTo: <${to}>\r\nSubject: From ${from}\r\n\r\nFrom ${from} to ${to}\r\n`;
  const { inboundIds } = await receiveMail(
    { ...context, reader, authenticate: async () => PASSED, count: () => undefined },
    internalOrigin({ actor: 'worker:receive-mail', organizationId, causeId: 'test' }),
    {
      organizationId,
      environment: 'live',
      raw: Buffer.from(raw),
      from,
      recipients: [{ domainId: 'dom_a', address: to, route: null }],
      client: null,
    },
  );
  return inboundIds[0] ?? '';
};
