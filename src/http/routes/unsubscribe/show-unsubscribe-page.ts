import { findLinkedRecipient, isRecipientUnsubscribed } from '../../../commands/message/unsubscribe-recipient.ts';
import type { RouteContext } from '../../endpoint.ts';
import { definePage } from '../../pages/define-page.ts';
import type { Page } from '../../pages/page.ts';
import { CONFIRMATION } from './confirmation.ts';
import { unsubscribedPage } from './unsubscribed-page.ts';

const askingPage = (sender: string): Page => ({
  title: 'Unsubscribe?',
  paragraphs: [`${sender} sent you the mail that this link was in. Do you want no more mail like it?`],
  button: { label: 'Unsubscribe', ...CONFIRMATION },
});

/** Changes nothing: programs that look for malice open every link of a mail before its reader does. */
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
