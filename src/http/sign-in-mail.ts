import type { FastifyRequest } from 'fastify';
import { createMailedLink, type InvitedMember, loadMember } from '../commands/member.ts';
import { mailNotice } from '../commands/message/send-message.ts';
import { clientNetworkOf, signInUrl } from '../domain/kernel/addresses.ts';
import { keyedDigest, sha256Hex } from '../domain/kernel/digest.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import { NETWORK_MARK_CHARACTERS } from '../domain/member/events.ts';
import { INVITATION_DAYS, LINK_MINUTES, type Members } from '../domain/member/member.ts';
import type { Notice } from '../domain/organization/organization.ts';
import type { Contents, StoredBody } from '../domain/ports/contents.ts';
import { createSemaphore } from '../lib/async/async.ts';
import { escapeHtml } from '../lib/html/html.ts';
import type { KeyCache } from './auth/key-cache.ts';
import type { MemberOfOrganization } from './auth/key-cache-queries.ts';
import type { HttpDependencies } from './dependencies.ts';
import { fill, type Locale, localeFor } from './pages/languages.ts';
import { keepOrigin, requestOrigin } from './request-origin.ts';

/**
 * Members by their address. Addresses are in the vault, and nothing there finds one: they are read once for each member, and
 * kept in memory as the members are.
 */
export interface MemberAddresses {
  /**
   * Members with this address, of all organizations; letters of ASCII are the same in either case.
   * @throws {DomainError} `unavailable`: the vault is away.
   */
  find(address: string): Promise<readonly MemberOfOrganization[]>;
}

/** Letters outside ASCII stay: a K may be the sign of the kelvin, which `toLowerCase` takes for one. */
const folded = (address: string): string => address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

export const createMemberAddresses = ({
  keyCache,
  contents,
}: {
  readonly keyCache: Pick<KeyCache, 'catchUp' | 'members' | 'memberOf'>;
  readonly contents: Pick<Contents, 'get'>;
}): MemberAddresses => {
  /** By organization: what was read of it. */
  const read = new Map<string, Members>();
  const addressOf = new Map<string, string>();
  const membersWith = new Map<string, Set<string>>();
  let refreshing: Promise<void> | null = null;

  const forget = (memberId: string): void => {
    const address = addressOf.get(memberId);
    if (address === undefined) return;
    addressOf.delete(memberId);
    const others = membersWith.get(address);
    others?.delete(memberId);
    if (others?.size === 0) membersWith.delete(address);
  };

  const note = (memberId: string, body: StoredBody | undefined): void => {
    if (body?.kind !== 'contact' || body.address === null) return;
    const address = folded(body.address);
    addressOf.set(memberId, address);
    membersWith.set(address, (membersWith.get(address) ?? new Set()).add(memberId));
  };

  const refresh = async (): Promise<void> => {
    const changed = [...keyCache.members()].filter(([id, state]) => read.get(id) !== state);
    const found = changed.flatMap(([, { members }]) => Object.values(members));
    const added = found.filter(({ memberId }) => !addressOf.has(memberId));
    const bodies = await contents.get(added.map(({ contactId }) => contactId));
    for (const { memberId, contactId } of added) note(memberId, bodies.get(contactId));
    for (const [id, state] of changed) {
      const before = Object.keys(read.get(id)?.members ?? {});
      for (const memberId of before.filter((one) => state.members[one] === undefined)) forget(memberId);
      read.set(id, state);
    }
  };

  return {
    find: async (address) => {
      await keyCache.catchUp();
      // One after the other: two at once would read the same.
      await refreshing?.catch(() => undefined);
      refreshing ??= refresh().finally(() => {
        refreshing = null;
      });
      await refreshing;
      return [...(membersWith.get(folded(address)) ?? [])].flatMap((memberId) => keyCache.memberOf(memberId) ?? []);
    },
  };
};

/**
 * Mails links to sign in and invitations. Links to sign in are mailed behind the answers to their requests: the answer is
 * the same, and as fast, whether a member has the address or not. A process that is killed loses what it has not mailed
 * yet; people ask again.
 */
export interface SignInMail {
  /** @throws {DomainError} `unavailable`: too many wait. */
  ask(address: string, request: FastifyRequest): void;
  /** Mails an invitation where mail leaves the machine. @returns whether it is on its way. */
  invite(invited: InvitedMember & { readonly organizationId: string }, request: FastifyRequest): Promise<boolean>;
  /** Mails a member that a passkey was added without their presence. */
  notifyOfPasskey(added: PasskeyOfMember, request: FastifyRequest): Promise<void>;
  /** Waits until the requested mails have been sent. */
  close(): Promise<void>;
}

interface PasskeyOfMember {
  readonly organizationId: string;
  readonly memberId: string;
  readonly passkeyId: string;
}

/** Each reads the vault and appends twice for a member, and does nothing for others. */
const CONCURRENCY = 2;
/** Waiting requests, each with an address. Lower: people are refused while the log is slow. */
const WAITING_MAX = 1_000;

const PARAGRAPH = 'style="margin:0 0 16px"';
const BUTTON =
  'style="display:inline-block;padding:12px 22px;border-radius:8px;background:#1f4fba;color:#ffffff;text-decoration:none"';

/** Sentences of a mail with a link. */
interface LinkMail {
  readonly subject: string;
  /** Why it is sent. */
  readonly reason: string;
  readonly button: string;
  /** How long the link works. */
  readonly once: string;
  /** Advice to those who did not expect it. */
  readonly ignore: string;
}

/** @param paragraphs of HTML. */
const htmlOf = ({ tag }: Locale, subject: string, paragraphs: readonly string[]): string => `<!doctype html>
<html lang="${tag}">
<head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>${escapeHtml(subject)}</title></head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere">${paragraphs.map((each) => `<p ${PARAGRAPH}>${each}</p>`).join('')}</body>
</html>
`;

/** A mail with a link. */
export const linkNotice = (
  locale: Locale,
  url: string,
  { subject, reason, button, once, ignore }: LinkMail,
): Notice => {
  const paragraphs = [
    escapeHtml(reason),
    `<a href="${escapeHtml(url)}" ${BUTTON}>${escapeHtml(button)}</a>`,
    `${escapeHtml(locale.say.signInMailCopy)}<br>${escapeHtml(url)}`,
    escapeHtml(once),
    escapeHtml(ignore),
  ];
  const text = [reason, '', url, '', once, ignore, ''].join('\n');
  return { subject, text, html: htmlOf(locale, subject, paragraphs) };
};

/** @param organization its name, which its owners choose. */
const passkeyNotice = (locale: Locale, organization: string): Notice => {
  const subject = fill(locale.say.passkeyMailSubject, { organization });
  const sentences = [fill(locale.say.passkeyMailReason, { organization }), locale.say.passkeyMailAdvice];
  return { subject, text: `${sentences.join('\n\n')}\n`, html: htmlOf(locale, subject, sentences.map(escapeHtml)) };
};

/** @param url of the link. @param organization its name, which its owners choose. */
const signInNotice = (locale: Locale, url: string, organization: string): Notice => {
  const { say } = locale;
  const values = { organization, minutes: String(LINK_MINUTES) };
  return linkNotice(locale, url, {
    subject: fill(say.signInMailSubject, values),
    reason: fill(say.signInMailAsked, values),
    button: say.signInMailButton,
    once: fill(say.signInMailOnce, values),
    ignore: say.signInMailIgnore,
  });
};

/** @param url of the link. @param organization its name, which its owners choose. */
const invitationNotice = (locale: Locale, url: string, organization: string): Notice => {
  const { say } = locale;
  const values = { organization, days: String(INVITATION_DAYS) };
  return linkNotice(locale, url, {
    subject: fill(say.invitationMailSubject, values),
    reason: fill(say.invitationMailReason, values),
    button: say.invitationMailButton,
    once: fill(say.invitationMailOnce, values),
    ignore: say.invitationMailIgnore,
  });
};

/** Identifies a network in the log, where requests for the member's links are counted. */
const networkMark = ({ trackingKeys: [key] }: HttpDependencies, memberId: string, address: string): string =>
  keyedDigest(key.bytes, 'network that asks for a link', `${memberId}\0${clientNetworkOf(address)}`).slice(
    0,
    NETWORK_MARK_CHARACTERS,
  );

export const createSignInMail = (
  deps: HttpDependencies,
  { keyCache, addresses }: { readonly keyCache: KeyCache; readonly addresses: MemberAddresses },
): SignInMail => {
  const { context, logger } = deps;
  const semaphore = createSemaphore({ capacity: CONCURRENCY });
  const pending = new Set<Promise<void>>();

  const mail = async ({ organizationId, member }: MemberOfOrganization, request: FastifyRequest): Promise<void> => {
    const { memberId, contactId, status } = member;
    if (status !== 'joined') return; // an invitation is accepted through its own link
    const domain = keyCache.domainNamed(organizationId, null);
    const contact = (await context.contents.get([contactId])).get(contactId);
    if (contact?.kind !== 'contact' || contact.address === null) return;
    if (domain === undefined) {
      logger.warn({ organizationId, memberId }, 'cannot mail a sign-in link: no domain can send it');
      return;
    }
    const origin = await keepOrigin(
      deps,
      { ...requestOrigin(request), actor: 'service', organizationId, environment: null },
      request,
    );
    const network = networkMark(deps, memberId, request.ip);
    const { token } = await createMailedLink(context, origin, { memberId, network });
    await mailNotice(context, domain, {
      organizationId,
      notice: signInNotice(
        localeFor(request.headers['accept-language']),
        signInUrl(deps.publicUrl, token),
        keyCache.organizationNameOf(organizationId),
      ),
      to: contact.address,
      attachments: [],
      actor: 'service',
      causeId: request.id,
      idempotencyKey: `sign-in\n${sha256Hex(token)}`,
      ttlSeconds: LINK_MINUTES * 60,
      confidential: true,
    });
  };

  const mailAll = async (address: string, request: FastifyRequest): Promise<void> => {
    for (const found of await addresses.find(address)) {
      await mail(found, request).catch((err: unknown) => {
        if (!(err instanceof DomainError)) throw err;
        logger.warn({ err, memberId: found.member.memberId }, 'cannot mail a sign-in link: the send was rejected');
      });
    }
  };

  const mailInvitation: SignInMail['invite'] = async ({ organizationId, member, link }, request) => {
    const domain = keyCache.domainNamed(organizationId, null);
    if (deps.inbox !== null || domain === undefined || member.email === null) return false;
    // An invitation goes to any address and names the organization: it would be a way to send.
    if (keyCache.isSuspended(organizationId)) return false;
    const url = signInUrl(deps.publicUrl, link.token);
    await mailNotice(context, domain, {
      organizationId,
      notice: invitationNotice(
        localeFor(request.headers['accept-language']),
        url,
        keyCache.organizationNameOf(organizationId),
      ),
      to: member.email,
      attachments: [],
      actor: 'service',
      causeId: request.id,
      idempotencyKey: `invitation\n${sha256Hex(link.token)}`,
      confidential: true,
    });
    return true;
  };

  const mailOfPasskey: SignInMail['notifyOfPasskey'] = async ({ organizationId, memberId, passkeyId }, request) => {
    const domain = keyCache.domainNamed(organizationId, null);
    const { email } = await loadMember(context, organizationId, memberId);
    if (domain === undefined || email === null) return;
    await mailNotice(context, domain, {
      organizationId,
      notice: passkeyNotice(localeFor(request.headers['accept-language']), keyCache.organizationNameOf(organizationId)),
      to: email,
      attachments: [],
      actor: 'service',
      causeId: request.id,
      idempotencyKey: `passkey\n${passkeyId}`,
    });
  };

  return {
    notifyOfPasskey: (added, request) =>
      mailOfPasskey(added, request).catch((err: unknown) =>
        logger.warn({ err, memberId: added.memberId }, 'cannot mail a member about their new passkey'),
      ),
    // The person is invited by then: they can be handed the link.
    invite: (invited, request) =>
      mailInvitation(invited, request).catch((err: unknown) => {
        logger.warn({ err, memberId: invited.member.memberId }, 'cannot mail an invitation');
        return false;
      }),
    ask: (address, request) => {
      if (pending.size >= WAITING_MAX) throw new DomainError('unavailable', 'too many links are being mailed');
      const work = semaphore
        .run(() => mailAll(address, request), 1, clientNetworkOf(request.ip))
        .catch((err: unknown) => logger.error({ err, requestId: request.id }, 'cannot mail a sign-in link'))
        .finally(() => pending.delete(work));
      pending.add(work);
    },
    close: async () => {
      await Promise.all(pending);
    },
  };
};
