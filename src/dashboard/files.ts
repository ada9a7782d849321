import { reloadForFiles } from './data/reload.ts';

/** Runs before all other scripts of the page, to detect missing files. */

const FILES = 'script[src], link[rel=stylesheet]';

const give = (): void => {
  document.body.textContent = 'Some files of the dashboard are missing. Reload this page in a minute.';
};

let isReloading = false;

// Listens in the capture phase, because error events of elements do not bubble.
addEventListener(
  'error',
  ({ target }) => {
    if (isReloading || !(target instanceof Element) || !target.matches(FILES)) return;
    isReloading = reloadForFiles();
    if (!isReloading) give();
  },
  true,
);
