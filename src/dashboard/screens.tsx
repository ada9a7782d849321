import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ScreenFault, Skeleton } from './components/states.tsx';
import { ApiFault } from './data/api.ts';
import { reloadForFiles } from './data/reload.ts';

interface Screen {
  /** Path below `/dashboard`. A capture group is the id of the displayed resource. */
  readonly path: RegExp;
  /** Title of the browser tab and of the header in small windows. */
  readonly title: string;
  readonly load: () => Promise<ComponentType<{ readonly id: string }>>;
}

/** Each screen's code is loaded when it is first shown, which keeps the initial load small. */
export const SCREENS: readonly Screen[] = [
  { path: /^$/, title: 'Overview', load: async () => (await import('./overview/overview.tsx')).Overview },
  { path: /^\/messages$/, title: 'Messages', load: async () => (await import('./messages/messages.tsx')).Messages },
  {
    path: /^\/messages\/([^/]+)$/,
    title: 'Message',
    load: async () => (await import('./messages/message.tsx')).Message,
  },
  { path: /^\/events$/, title: 'Events', load: async () => (await import('./events/events.tsx')).Events },
  {
    path: /^\/statistics$/,
    title: 'Statistics',
    load: async () => (await import('./statistics/statistics.tsx')).Statistics,
  },
  {
    path: /^\/templates$/,
    title: 'Templates',
    load: async () => (await import('./templates/templates.tsx')).Templates,
  },
  {
    path: /^\/templates\/([^/]+)$/,
    title: 'Template',
    load: async () => (await import('./templates/template.tsx')).Template,
  },
  { path: /^\/keys$/, title: 'API keys', load: async () => (await import('./keys/keys.tsx')).Keys },
  { path: /^\/keys\/([^/]+)$/, title: 'API key', load: async () => (await import('./keys/key.tsx')).Key },
  { path: /^\/requests$/, title: 'Requests', load: async () => (await import('./requests/requests.tsx')).Requests },
  { path: /^\/webhooks$/, title: 'Webhooks', load: async () => (await import('./webhooks/webhooks.tsx')).Webhooks },
  {
    path: /^\/webhooks\/([^/]+)$/,
    title: 'Webhook',
    load: async () => (await import('./webhooks/webhook.tsx')).Webhook,
  },
  { path: /^\/settings$/, title: 'Settings', load: async () => (await import('./settings/settings.tsx')).Settings },
  { path: /^\/domains$/, title: 'Domains', load: async () => (await import('./domains/domains.tsx')).Domains },
  { path: /^\/domains\/([^/]+)$/, title: 'Domain', load: async () => (await import('./domains/domain.tsx')).Domain },
  {
    path: /^\/suppressions$/,
    title: 'Suppressions',
    load: async () => (await import('./suppressions/suppressions.tsx')).Suppressions,
  },
  { path: /^\/inbox$/, title: 'Inbox', load: async () => (await import('./inbox/inbox.tsx')).Inbox },
  {
    path: /^\/inbox\/([^/]+)$/,
    title: 'Captured mail',
    load: async () => (await import('./inbox/inbox.tsx')).CapturedMail,
  },
  { path: /^\/delivery$/, title: 'Delivery', load: async () => (await import('./delivery/delivery.tsx')).Delivery },
  { path: /^\/audit$/, title: 'Audit', load: async () => (await import('./audit/audit.tsx')).Audit },
  { path: /^\/billing$/, title: 'Billing', load: async () => (await import('./billing/billing.tsx')).Billing },
];

/** Components of screens shown before, so that they appear again without a blank. */
const loaded = new Map<Screen, ComponentType<{ readonly id: string }>>();

/** True if the service responds. Reloading the page while it is down would lose the page. */
const isServed = (): Promise<boolean> =>
  fetch('/dashboard', { cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );

const UNREACHABLE = new ApiFault('The service is not responding.', { status: 0, code: 'unreachable', requestId: null });
/** Retry interval for a screen whose code could not be loaded. */
const AGAIN_MS = 5_000;

/** Loads the code of a screen. @returns the error; null: the code is loaded, or the page is about to reload. */
const load = async (screen: Screen): Promise<Error | null> => {
  try {
    loaded.set(screen, await screen.load());
    return null;
  } catch (error) {
    if (!(await isServed())) return UNREACHABLE;
    if (reloadForFiles()) return null;
    return error instanceof Error ? error : new Error(String(error));
  }
};

/** A screen whose code is loaded on demand. */
export const LoadedScreen = ({ screen, id }: { readonly screen: Screen; readonly id: string }): JSX.Element => {
  const [fault, setFault] = useState<Error | null>(null);
  const [tried, tryAgain] = useState(0);
  const [, render] = useState({});
  const Shown = loaded.get(screen);
  useEffect(() => {
    if (Shown !== undefined) return;
    let isGone = false;
    let again: ReturnType<typeof setTimeout> | undefined;
    const show = (found: Error | null): void => {
      if (isGone) return;
      setFault(found);
      if (loaded.has(screen)) render({});
      else again = setTimeout(() => tryAgain((times) => times + 1), AGAIN_MS);
    };
    void load(screen).then(show);
    return () => {
      isGone = true;
      clearTimeout(again);
    };
  }, [screen, tried]);
  if (fault !== null)
    return <ScreenFault title={screen.title} error={fault} retry={() => tryAgain((times) => times + 1)} />;
  return Shown === undefined ? <Skeleton /> : <Shown key={id} id={id} />;
};
