import type { ComponentType } from 'preact';

/** All screens. Each one's code is loaded when it is first shown, which keeps the initial load small. */

export interface Screen {
  /** Path below `/dashboard`. A capture group is the id of the displayed resource. */
  readonly path: RegExp;
  /** Title of the browser tab and of the header in small windows. */
  readonly title: string;
  readonly load: () => Promise<ComponentType<{ readonly id: string }>>;
}

export const SCREENS: readonly Screen[] = [
  {
    path: /^$/,
    title: 'Overview',
    load: async () => (await import('./overview.tsx')).Overview,
  },
  {
    path: /^\/messages$/,
    title: 'Messages',
    load: async () => (await import('./messages.tsx')).Messages,
  },
  {
    path: /^\/messages\/([^/]+)$/,
    title: 'Message',
    load: async () => (await import('./message.tsx')).Message,
  },
  {
    path: /^\/events$/,
    title: 'Events',
    load: async () => (await import('./events.tsx')).Events,
  },
  {
    path: /^\/statistics$/,
    title: 'Statistics',
    load: async () => (await import('./statistics.tsx')).Statistics,
  },
  {
    path: /^\/templates$/,
    title: 'Templates',
    load: async () => (await import('./templates.tsx')).Templates,
  },
  {
    path: /^\/templates\/([^/]+)$/,
    title: 'Template',
    load: async () => (await import('./template.tsx')).Template,
  },
  {
    path: /^\/keys$/,
    title: 'API keys',
    load: async () => (await import('./keys.tsx')).Keys,
  },
  {
    path: /^\/keys\/([^/]+)$/,
    title: 'API key',
    load: async () => (await import('./key.tsx')).Key,
  },
  {
    path: /^\/requests$/,
    title: 'Requests',
    load: async () => (await import('./requests.tsx')).Requests,
  },
  {
    path: /^\/webhooks$/,
    title: 'Webhooks',
    load: async () => (await import('./webhooks.tsx')).Webhooks,
  },
  {
    path: /^\/webhooks\/([^/]+)$/,
    title: 'Webhook',
    load: async () => (await import('./webhook.tsx')).Webhook,
  },
  {
    path: /^\/settings$/,
    title: 'Settings',
    load: async () => (await import('./settings.tsx')).Settings,
  },
  {
    path: /^\/domains$/,
    title: 'Domains',
    load: async () => (await import('./domains.tsx')).Domains,
  },
  {
    path: /^\/domains\/([^/]+)$/,
    title: 'Domain',
    load: async () => (await import('./domain.tsx')).Domain,
  },
  {
    path: /^\/suppressions$/,
    title: 'Suppressions',
    load: async () => (await import('./suppressions.tsx')).Suppressions,
  },
  {
    path: /^\/inbox$/,
    title: 'Inbox',
    load: async () => (await import('./inbox.tsx')).Inbox,
  },
  {
    path: /^\/inbox\/([^/]+)$/,
    title: 'Captured mail',
    load: async () => (await import('./captured-mail.tsx')).CapturedMail,
  },
  {
    path: /^\/delivery$/,
    title: 'Delivery',
    load: async () => (await import('./delivery.tsx')).Delivery,
  },
  {
    path: /^\/audit$/,
    title: 'Audit',
    load: async () => (await import('./audit.tsx')).Audit,
  },
  {
    path: /^\/billing$/,
    title: 'Billing',
    load: async () => (await import('./billing.tsx')).Billing,
  },
];
