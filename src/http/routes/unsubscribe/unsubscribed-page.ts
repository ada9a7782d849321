import type { Page } from '../../pages/page.ts';

/** @param sender the domain that wrote. */
export const unsubscribedPage = (sender: string): Page => ({
  title: 'You have unsubscribed',
  paragraphs: [`${sender} has been told that you want no more mail like this. You can close this page.`],
});
