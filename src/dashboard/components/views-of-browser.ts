import type { SerializedView } from '../../http/resources/members/views.ts';
import { ApiFault } from '../data/api.ts';

/**
 * Views that an earlier version of the dashboard stored in the browser, under the id of the member. They are saved with
 * the member once, and then removed from the browser.
 */

/** Views of a member that the service accepts. Higher: all are refused together. Lower: some are lost. */
const VIEWS_MAX = 50;

const keyOf = (memberId: string): string => `outbox-views-${memberId}`;

const isView = (value: unknown): value is SerializedView =>
  typeof value === 'object' &&
  value !== null &&
  (['name', 'path', 'query'] as const).every((field) => typeof (value as Partial<SerializedView>)[field] === 'string');

const read = (stored: string): readonly SerializedView[] => {
  try {
    const found: unknown = JSON.parse(stored);
    return Array.isArray(found) ? found.filter(isView).map(({ name, path, query }) => ({ name, path, query })) : [];
  } catch {
    return [];
  }
};

type Views = readonly SerializedView[];

/** The stored views and the others, without two of one name. A view that is stored already stays as it is. */
const merged = (stored: Views, others: Views): Views => {
  const distinct = new Map([...others, ...stored].map((view) => [`${view.path}\0${view.name}`, view]));
  return [...new Set([...stored, ...distinct.values()])].slice(0, VIEWS_MAX);
};

type Change = (changed: (views: Views) => Views) => Promise<void>;

const isInvalid = (error: unknown): boolean => error instanceof ApiFault && error.code === 'invalid_request';

/** Saves these views. If the service refuses some of them, the others are saved one by one. */
const save = async (views: Views, change: Change): Promise<void> => {
  try {
    await change((stored) => merged(stored, views));
  } catch (error) {
    if (!isInvalid(error)) throw error;
    if (views.length > 1) for (const view of views) await save([view], change);
  }
};

/** Moves the views of this browser to the member. They stay in the browser until they are saved. @throws {ApiFault} */
export const moveViewsOfBrowser = async (memberId: string, change: Change): Promise<void> => {
  const stored = localStorage.getItem(keyOf(memberId));
  if (stored === null) return;
  const views = read(stored);
  if (views.length > 0) await save(views, change);
  localStorage.removeItem(keyOf(memberId));
};
