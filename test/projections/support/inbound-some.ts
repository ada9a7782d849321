import type { CommandContext, Origin } from '../../../src/commands/execute.ts';
import { claimForward, failForward, loadForward, recordForward } from '../../../src/commands/inbound/forward.ts';
import { createInboundRoute } from '../../../src/commands/inbound/route.ts';
import type { Caller } from '../../../src/domain/api-key/caller.ts';
import { receive } from '../../http/support/received-mail.ts';

/** Receives a mail for a domain, or routes its mail. @param below a number in [0, limit). */
export const inboundSome = async (
  context: CommandContext,
  origin: Origin,
  domain: Caller['domain'],
  below: (limit: number) => number,
) => {
  if (below(4) === 0) {
    const rule = { match: `r${below(20)}*`, action: below(2) === 0 ? 'store' : 'refuse', webhookId: null } as const;
    await createInboundRoute(context, origin, { ...rule, order: below(10), domainId: domain.id });
    return;
  }
  const { organizationId } = origin;
  const environment = below(4) === 0 ? 'test' : 'live';
  const to = `r${below(20)}@${domain.name}`;
  const isForwarded = below(2) === 0;
  const facts = isForwarded ? ({ action: 'forward' } as const) : {};
  const raw = `Subject: ${below(1000)}\r\n`;
  const id = await receive(context, { organizationId, environment, domainId: domain.id, to, raw, facts });
  if (isForwarded) await forwardSome(context, id, below);
};

const SMTP = { code: 250, enhanced: '2.0.0', mx: 'mx.example.net', tls: null, replyId: null };

const forwardSome = async (context: CommandContext, inboundId: string, below: (limit: number) => number) => {
  const known = await loadForward(context, inboundId);
  if (known === null) return;
  if (below(2) === 0) return failForward(context, known, 'not_confirmed');
  const attempt = await claimForward(context, known, 60_000);
  if (attempt === null) return;
  await recordForward(context, known.state, { attempt, reported: { outcome: 'forwarded', smtp: SMTP } });
};
