import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ScreenFault, ScreenSkeleton } from './components/states.tsx';
import type { OperationName } from './data/access.ts';
import { ApiFault } from './data/api.ts';
import { reloadForFiles } from './data/reload.ts';

export interface Screen {
  /** Path below `/dashboard`. A capture group is the id of the displayed resource. */
  readonly path: RegExp;
  /** Title of the browser tab and of the header in small windows. */
  readonly title: string;
  /** It is in the menu, and opens, for those who may use one of these. */
  readonly needs: readonly OperationName[];
  readonly load: () => Promise<ComponentType<{ readonly id: string }>>;
}

/** Each screen's code is loaded when it is first shown, which keeps the initial load small. */
export const SCREENS: readonly Screen[] = [
  {
    path: /^$/,
    title: 'Overview',
    needs: ['GET /v1/stats'],
    load: async () => (await import('./overview/overview.tsx')).Overview,
  },
  {
    path: /^\/messages$/,
    title: 'Messages',
    needs: ['GET /v1/messages'],
    load: async () => (await import('./messages/messages.tsx')).Messages,
  },
  {
    path: /^\/messages\/([^/]+)$/,
    title: 'Message',
    needs: ['GET /v1/messages/:id'],
    load: async () => (await import('./messages/message.tsx')).Message,
  },
  {
    path: /^\/inbound$/,
    title: 'Inbound',
    needs: ['GET /v1/inbound'],
    load: async () => (await import('./inbound/inbound.tsx')).Inbound,
  },
  {
    path: /^\/inbound\/([^/]+)$/,
    title: 'Inbound message',
    needs: ['GET /v1/inbound/:id'],
    load: async () => (await import('./inbound/message.tsx')).InboundMessage,
  },
  {
    path: /^\/events$/,
    title: 'Events',
    needs: ['GET /v1/events'],
    load: async () => (await import('./events/events.tsx')).Events,
  },
  {
    path: /^\/statistics$/,
    title: 'Statistics',
    needs: ['GET /v1/stats'],
    load: async () => (await import('./statistics/statistics.tsx')).Statistics,
  },
  {
    path: /^\/templates$/,
    title: 'Templates',
    needs: ['GET /v1/templates'],
    load: async () => (await import('./templates/templates.tsx')).Templates,
  },
  {
    path: /^\/templates\/([^/]+)$/,
    title: 'Template',
    needs: ['GET /v1/templates/:id'],
    load: async () => (await import('./templates/template.tsx')).Template,
  },
  {
    path: /^\/keys$/,
    title: 'API keys',
    needs: ['GET /v1/api-keys'],
    load: async () => (await import('./keys/keys.tsx')).Keys,
  },
  {
    path: /^\/keys\/([^/]+)$/,
    title: 'API key',
    needs: ['GET /v1/api-keys/:id'],
    load: async () => (await import('./keys/key.tsx')).Key,
  },
  {
    path: /^\/requests$/,
    title: 'Requests',
    needs: ['GET /v1/requests'],
    load: async () => (await import('./requests/requests.tsx')).Requests,
  },
  {
    path: /^\/webhooks$/,
    title: 'Webhooks',
    needs: ['GET /v1/webhooks'],
    load: async () => (await import('./webhooks/webhooks.tsx')).Webhooks,
  },
  {
    path: /^\/webhooks\/([^/]+)$/,
    title: 'Webhook',
    needs: ['GET /v1/webhooks/:id'],
    load: async () => (await import('./webhooks/webhook.tsx')).Webhook,
  },
  {
    path: /^\/settings$/,
    title: 'Settings',
    needs: ['GET /v1/organization', 'GET /v1/passkeys'],
    load: async () => (await import('./settings/settings.tsx')).Settings,
  },
  {
    path: /^\/domains$/,
    title: 'Domains',
    needs: ['GET /v1/domains'],
    load: async () => (await import('./domains/domains.tsx')).Domains,
  },
  {
    path: /^\/domains\/([^/]+)$/,
    title: 'Domain',
    needs: ['GET /v1/domains/:id'],
    load: async () => (await import('./domains/domain.tsx')).Domain,
  },
  {
    path: /^\/suppressions$/,
    title: 'Suppressions',
    needs: ['GET /v1/suppressions'],
    load: async () => (await import('./suppressions/suppressions.tsx')).Suppressions,
  },
  {
    path: /^\/inbox$/,
    title: 'Inbox',
    needs: ['GET /v1/inbox'],
    load: async () => (await import('./inbox/inbox.tsx')).Inbox,
  },
  {
    path: /^\/inbox\/([^/]+)$/,
    title: 'Captured mail',
    needs: ['GET /v1/inbox/:id'],
    load: async () => (await import('./inbox/inbox.tsx')).CapturedMail,
  },
  {
    path: /^\/delivery$/,
    title: 'Delivery',
    needs: ['GET /v1/destinations/backlog'],
    load: async () => (await import('./delivery/delivery.tsx')).Delivery,
  },
  {
    path: /^\/audit$/,
    title: 'Audit',
    needs: ['GET /v1/audit/log'],
    load: async () => (await import('./audit/audit.tsx')).Audit,
  },
  {
    path: /^\/billing$/,
    title: 'Billing',
    needs: ['GET /v1/billing'],
    load: async () => (await import('./billing/billing.tsx')).Billing,
  },
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
  return Shown === undefined ? <ScreenSkeleton title={screen.title} /> : <Shown key={id} id={id} />;
};
