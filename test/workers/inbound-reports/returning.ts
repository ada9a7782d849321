import { expect } from 'vitest';
import { organizationSecret } from '../../../src/commands/organization.ts';
import { type ReturnToken, readReturnPath, returnPath } from '../../../src/domain/message/tokens.ts';
import { type Delivering, openDelivering, statuses, until } from '../delivering.ts';
import { BOUNCE_DOMAIN, openReceiving } from './receiving.ts';

/** A service with a listener for its bounces. */
export const openReturning = async () => {
  const service = await openDelivering();
  service.workers({ bounceDomain: BOUNCE_DOMAIN }).start();
  return { ...service, ...(await openReceiving(service)) };
};

export type SentMail = { readonly id: string; readonly from: string; readonly raw: string };

/** Sends a message and waits for its delivery. Returns its return path too. */
export const send = async (
  service: Delivering,
  to: readonly string[] | string,
  more: Parameters<Delivering['send']>[3] = {},
): Promise<SentMail> => {
  const before = service.sink.mails.length;
  const id = await service.send(to, 'live', 'Hello', more);
  await until(async () => expect(new Set(await statuses(service, id))).toEqual(new Set(['delivered'])));
  const { from = '', raw = '' } = service.sink.mails[before] ?? {};
  return { id, from, raw };
};

/** Adds an `Original-Envelope-Id` to a report. */
export const named = (report: string, envelopeId: string): string =>
  report.replace('Reporting-MTA:', `Original-Envelope-Id: ${envelopeId}\r\nReporting-MTA:`);

/** The envelope id that servers receive with the copy for this return path. */
export const envelopeOf = async (
  service: Delivering,
  from: string,
  changed: Partial<ReturnToken> = {},
): Promise<string> => {
  const token = readReturnPath(from.split('@')[0] ?? '');
  if (token === null) throw new Error('no address of ours');
  const secret = await organizationSecret(service.context.secrets, service.organizationId);
  return returnPath(secret, { ...token, purpose: 'envelope', ...changed });
};
