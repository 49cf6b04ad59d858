import { afterAll, beforeAll, beforeEach } from 'vitest';

import { type Listening, startSimulator } from '../../../src/simulator/start.ts';
import type { Json } from '../box.ts';
import { type Browser, findBrowser, type Page, startBrowser } from './browser.ts';

type Send = (method: string, path: string, body?: unknown) => Promise<Json>;

/** The page in a browser, and the simulator that serves it. */
export interface OpenedPage {
  /** The page, freshly opened on a fresh world. */
  readonly opened: () => Promise<Page>;
  /** The control surface. */
  readonly sim: Send;
  /** The public interface, as `demo-admin`. */
  readonly api: Send;
}

/** The text of an element, as an expression on the page. */
export const textOf = (selector: string) => `(document.querySelector(${JSON.stringify(selector)})?.textContent ?? '')`;

/** Opens the page in a browser for the tests of a file; where there is no browser each of them is skipped and says so. */
export function pageInBrowser(): OpenedPage {
  const program = findBrowser();
  let started: Listening | undefined;
  let browser: Browser | undefined;

  beforeAll(async () => {
    started = await startSimulator({ clock: 'virtual' });
    if (program !== undefined) browser = await startBrowser(program);
  }, 240_000);

  afterAll(async () => {
    await browser?.close();
    await started?.close();
  });

  beforeEach(({ skip }) => {
    skip(program === undefined, 'there is no Chromium on PATH: the page was not tried in a browser');
  });

  const sends =
    (prefix: string): Send =>
    async (method, path, body) => {
      const answer = await fetch(`${started?.url}${prefix}${path}`, {
        method,
        headers: { authorization: 'demo-admin', 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return answer.json();
    };
  const sim = sends('/_sim');

  async function opened(): Promise<Page> {
    if (browser === undefined || started === undefined) throw new Error('the browser was not started');
    await sim('POST', '/reset', {});
    const { page } = browser;
    page.complaints.length = 0;
    await page.look({ width: 1440, height: 1000, scheme: 'light' });
    await page.open(started.url);
    await page.until(`${textOf('#live')} === 'Live'`);
    await page.until(`document.querySelectorAll('.env').length === 5`);
    return page;
  }

  return { opened, sim, api: sends('/api/public/v1') };
}
