import { reloadForFiles } from './data/reload.ts';

/** Before all other files of the page: sees that one of them is missing. */

const FILES = 'script[src], link[rel=stylesheet]';

const give = (): void => {
  document.body.textContent = 'Files of the dashboard are missing. Load this page again in a minute.';
};

let isReloading = false;

// Of an element: these events do not bubble.
addEventListener(
  'error',
  ({ target }) => {
    if (isReloading || !(target instanceof Element) || !target.matches(FILES)) return;
    isReloading = reloadForFiles();
    if (!isReloading) give();
  },
  true,
);
