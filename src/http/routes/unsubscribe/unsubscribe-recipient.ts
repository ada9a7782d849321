import { z } from 'zod';
import { unsubscribeRecipient } from '../../../commands/message/unsubscribe-recipient.ts';
import { addressClassOf } from '../../../domain/address-ranges.ts';
import { DomainError } from '../../../domain/domain-error.ts';
import type { UnsubscribeRecipient } from '../../../domain/message/unsubscribe-recipient.ts';
import type { RouteContext } from '../../endpoint.ts';
import { definePage } from '../../pages/define-page.ts';
import { CONFIRMATION, ONE_CLICK } from './confirmation.ts';
import { unsubscribedPage } from './unsubscribed-page.ts';

/** Either of the two. */
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
