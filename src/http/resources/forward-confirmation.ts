import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { internalOrigin } from '../../commands/execute.ts';
import { confirmForward, type ForwardQuestion, findForwardQuestion } from '../../commands/inbound/route.ts';
import { mailNotice } from '../../commands/message/send-message.ts';
import { organizationSecret } from '../../commands/organization.ts';
import { CONFIRMATION_DAYS, forwardToken } from '../../domain/inbound/forward-link.ts';
import { type ExistingInboundRoute, isForwardConfirmed } from '../../domain/inbound/route.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { HttpDependencies } from '../dependencies.ts';
import type { RouteContext } from '../endpoint.ts';
import { fill, type Locale, localeFor } from '../pages/languages.ts';
import { type Page, type PageCall, page } from '../pages/page.ts';
import { linkNotice } from '../sign-in-mail.ts';
import { loadDomain } from './domains/domains.ts';

/**
 * Confirmation of the address that a route forwards mail to: a mail with a link, and the page behind it. Nothing is
 * forwarded before, so that a route cannot fill the mailbox of a stranger.
 */

/** Mails a day (UTC) from an organization to one address, whichever of its routes ask. More: a way to flood a stranger. */
export const CONFIRMATIONS_PER_DAY_MAX = 3;
const DAY_MS = 86_400_000;

/** The addresses whose mail is forwarded. @throws {DomainError} `not_found`: their domain was deleted. */
const forwardedFrom = async (deps: HttpDependencies, route: ExistingInboundRoute): Promise<string> =>
  `${route.match}@${(await loadDomain(deps, route, route.domainId)).domain.name}`;

/**
 * Mails the address a link. The ids of the mails of a day follow from the address and the day, so that the log counts them.
 * @throws {DomainError} `domain_not_verified`, `organization_suspended`, `rate_limit_exceeded`.
 */
export const mailConfirmation = async (
  { deps, auth: { keyCache } }: RouteContext,
  { route, address }: Pick<ForwardQuestion, 'route' | 'address'>,
  request: FastifyRequest,
): Promise<void> => {
  const { context, inbox, publicUrl } = deps;
  const { organizationId, routeId, forwardTo } = route;
  if (forwardTo === undefined) return;
  const sender = keyCache.domainNamed(organizationId, null);
  if (sender === undefined || !sender.verified)
    throw new DomainError(
      'domain_not_verified',
      'no verified domain can send the mail that asks the address to confirm',
    );
  const now = context.system.now();
  const secret = await organizationSecret(context.secrets, organizationId);
  const token = forwardToken(secret, { routeId, addressId: forwardTo.addressId }, now);
  const locale = localeFor(request.headers['accept-language']);
  const words = {
    organization: keyCache.organizationNameOf(organizationId),
    route: await forwardedFrom(deps, route),
    days: String(CONFIRMATION_DAYS),
  };
  const { say } = locale;
  const notice = linkNotice(locale, `${publicUrl}/forward/${token}`, {
    subject: fill(say.forwardMailSubject, words),
    reason: fill(say.forwardMailReason, words),
    button: say.forwardMailButton,
    once: fill(say.forwardMailOnce, words),
    ignore: say.forwardMailIgnore,
  });
  const day = now.toISOString().slice(0, 10);
  for (let slot = 0; slot < CONFIRMATIONS_PER_DAY_MAX; slot += 1) {
    const sent = await mailNotice(context, sender, {
      organizationId,
      notice,
      to: address,
      attachments: [],
      actor: 'service',
      causeId: request.id,
      idempotencyKey: `confirmation of a forward\n${forwardTo.digest}\n${day}\n${slot}`,
      // Members could read the link and confirm for the address. Captured mail is theirs to try.
      ...(inbox === null ? { confidential: true } : {}),
    });
    if (!sent.replayed) return;
  }
  throw new DomainError(
    'rate_limit_exceeded',
    `the address was asked ${CONFIRMATIONS_PER_DAY_MAX} times today: find the mail there, or try again tomorrow`,
    { retryAfterSeconds: Math.ceil((DAY_MS - (now.getTime() % DAY_MS)) / 1000) },
  );
};

const CONFIRMATION = 'confirmed';

const wordsOf = async (
  { deps, auth: { keyCache } }: RouteContext,
  { route, address }: ForwardQuestion,
): Promise<Readonly<Record<'organization' | 'route' | 'address', string>>> => {
  const organization = keyCache.organizationNameOf(route.organizationId);
  return { organization, route: await forwardedFrom(deps, route), address };
};

const confirmedPage = ({ say }: Locale, words: Awaited<ReturnType<typeof wordsOf>>): Page => ({
  title: say.forwardConfirmedTitle,
  paragraphs: [fill(say.forwardConfirmed, words)],
});

const questionPage = ({ say }: Locale, words: Awaited<ReturnType<typeof wordsOf>>): Page => ({
  title: say.forwardTitle,
  paragraphs: [fill(say.forwardQuestion, words)],
  buttons: [{ label: say.forwardConfirm, name: CONFIRMATION, value: 'yes' }],
});

const showForwardPageRoute = page(
  'GET /forward/:token',
  {
    summary: 'Show the page that asks to confirm forwarding',
    description:
      'Shows the page behind the link that `forward_to` of an inbound route is mailed. Opening it changes nothing, since ' +
      'security scanners open every link in a mail.',
  },
  async ({ token, locale }, route) => {
    const question = await findForwardQuestion(route.deps.context, token);
    const words = await wordsOf(route, question);
    return isForwardConfirmed(question.route) ? confirmedPage(locale, words) : questionPage(locale, words);
  },
);

/** @throws {DomainError} `invalid_request`. */
const requireConfirmation = ({ form }: PageCall): void => {
  if (form.get(CONFIRMATION) === 'yes') return;
  throw new DomainError('invalid_request', `the form must contain ${CONFIRMATION}=yes`);
};

const confirmForwardRoute = page(
  'POST /forward/:token',
  {
    summary: 'Confirm forwarding',
    description:
      'Sent by the page: mail of the inbound route is forwarded to the address from now on. Repeating the request changes nothing.',
    body: z.strictObject({ [CONFIRMATION]: z.literal('yes').describe('Sent by the button of the page.') }),
    examples: { 'By the page': { [CONFIRMATION]: 'yes' } },
  },
  async (call, route) => {
    requireConfirmation(call);
    const { context } = route.deps;
    const question = await findForwardQuestion(context, call.token);
    const { organizationId, routeId } = question.route;
    const origin = internalOrigin({ actor: `recipient:${routeId}`, organizationId, causeId: call.request.id });
    await confirmForward(context, question, origin);
    return confirmedPage(call.locale, await wordsOf(route, question));
  },
);

export const FORWARD_PAGE_ROUTES = { showForwardPageRoute, confirmForwardRoute };
