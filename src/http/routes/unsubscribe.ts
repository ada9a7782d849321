import { z } from 'zod';
import {
  findLinkedRecipient,
  isRecipientUnsubscribed,
  unsubscribeRecipient,
} from '../../commands/message/unsubscribe-recipient.ts';
import { addressClassOf } from '../../domain/address-ranges.ts';
import { DomainError } from '../../domain/domain-error.ts';
import type { UnsubscribeRecipient } from '../../domain/message/unsubscribe-recipient.ts';
import type { RouteContext } from '../endpoint.ts';
import { definePage, type Page } from '../html-pages.ts';

/** Posted by the button of the page; differs from what programs post (RFC 8058 §3.1). */
export const CONFIRMATION = { name: 'confirmed', value: 'yes' } as const;
/** Posted by mail programs (RFC 8058 §3.1). */
export const ONE_CLICK = { name: 'List-Unsubscribe', value: 'One-Click' } as const;

/** @param sender domain of the sender. */
export const unsubscribedPage = (sender: string): Page => ({
  title: 'You have unsubscribed',
  paragraphs: [`${sender} has been told that you want no more mail like this. You can close this page.`],
});

const askingPage = (sender: string): Page => ({
  title: 'Unsubscribe?',
  paragraphs: [`${sender} sent you the mail that this link was in. Do you want no more mail like it?`],
  button: { label: 'Unsubscribe', ...CONFIRMATION },
});

/** Changes nothing: security scanners open every link in a mail. */
export const showUnsubscribePageRoute = (route: RouteContext): void =>
  definePage(
    route,
    'GET /unsubscribe/:token',
    {
      summary: 'Ask whether to unsubscribe',
      description:
        'The page behind the link in the `List-Unsubscribe` header of mail that was sent with `unsubscribe: "managed"`. ' +
        'It asks and changes nothing.',
    },
    async ({ token }) => {
      const { context } = route.deps;
      const recipient = await findLinkedRecipient(context, token);
      const { fromDomain } = recipient.message.state.accepted;
      return (await isRecipientUnsubscribed(context, recipient))
        ? unsubscribedPage(fromDomain)
        : askingPage(fromDomain);
    },
  );

/** One of the two. */
const posted = z.union([
  z.strictObject({ [ONE_CLICK.name]: z.literal(ONE_CLICK.value) }),
  z.strictObject({ [CONFIRMATION.name]: z.literal(CONFIRMATION.value) }),
]);

/** @throws {DomainError} `invalid_request`. */
const methodOf = (form: FormData): UnsubscribeRecipient['method'] => {
  if (form.get(ONE_CLICK.name) === ONE_CLICK.value) return 'one_click';
  if (form.get(CONFIRMATION.name) === CONFIRMATION.value) return 'page';
  throw new DomainError('invalid_request', `the form must hold ${ONE_CLICK.name}=${ONE_CLICK.value}`);
};

export const unsubscribeRecipientRoute = (route: RouteContext): void =>
  definePage(
    route,
    'POST /unsubscribe/:token',
    {
      summary: 'Unsubscribe',
      description:
        'What mail programs post for their user (RFC 8058), and what the page behind the link does. ' +
        'The sender is told by the event `message.unsubscribed`, ' +
        'and the address is suppressed: for bulk mail where the message was, for all mail otherwise. ' +
        'Unsubscribing a second time changes nothing, unless the address was taken off the list in between.',
      body: posted,
      examples: {
        'By a mail program': { [ONE_CLICK.name]: ONE_CLICK.value },
        'By the page': { [CONFIRMATION.name]: CONFIRMATION.value },
      },
    },
    async ({ token, form, request }) => {
      const method = methodOf(form);
      const by = { requestId: request.id, sourceClass: addressClassOf(request.ip) };
      const { accepted } = await unsubscribeRecipient(route.deps.context, { token, method, request: by });
      return unsubscribedPage(accepted.fromDomain);
    },
  );
