/**
 * A headless Chromium and one page in it, driven over the DevTools protocol on a pipe: no port, no package. It needs a browser on PATH;
 * nothing is downloaded.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

const programs = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  '--remote-debugging-pipe',
];

/** Where a Chromium is; undefined when there is none on PATH. */
export function findBrowser(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const places = programs.flatMap((program) => folders.map((folder) => join(folder, program)));
  return places.find((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

type Values = Readonly<Record<string, unknown>>;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Values;
  readonly result?: Values;
  readonly error?: { readonly message: string };
}

/** Messages on the pipe, each ended by a zero byte. */
class Wire {
  readonly #out: Writable;
  readonly #waiting = new Map<number, { done: (result: Values) => void; failed: (error: Error) => void }>();
  #next = 0;
  onEvent: (method: string, params: Values) => void = () => undefined;

  constructor(child: ChildProcess) {
    this.#out = child.stdio[3] as Writable;
    const input = child.stdio[4] as Readable;
    let text = '';
    input.setEncoding('utf8');
    input.on('data', (chunk: string) => {
      const parts = (text + chunk).split('\0');
      text = parts.pop() ?? '';
      for (const part of parts) this.#take(JSON.parse(part) as Message);
    });
    this.#out.on('error', () => undefined);
    child.once('exit', () => {
      for (const { failed } of this.#waiting.values()) failed(new Error('the browser ended'));
    });
  }

  #take({ id, method, params, result, error }: Message): void {
    if (method !== undefined) return this.onEvent(method, params ?? {});
    const waiting = this.#waiting.get(id ?? 0);
    this.#waiting.delete(id ?? 0);
    if (error === undefined) waiting?.done(result ?? {});
    else waiting?.failed(new Error(error.message));
  }

  async send(method: string, params: Values = {}, sessionId?: string): Promise<Values> {
    this.#next += 1;
    const id = this.#next;
    const answer = new Promise<Values>((done, failed) => this.#waiting.set(id, { done, failed }));
    this.#out.write(`${JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) })}\0`);
    return answer;
  }
}

const namedKeys: Readonly<Record<string, Values>> = {
  Tab: { key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9 },
  Enter: { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' },
  Space: { key: ' ', code: 'Space', windowsVirtualKeyCode: 32, text: ' ' },
  ArrowDown: { key: 'ArrowDown', code: 'ArrowDown', windowsVirtualKeyCode: 40 },
  Escape: { key: 'Escape', code: 'Escape', windowsVirtualKeyCode: 27 },
};

/** How a page is looked at. */
export interface Looks {
  readonly width: number;
  readonly height: number;
  readonly scheme: 'light' | 'dark';
}

/** One page in a browser. */
export class Page {
  /** What the console complained about: errors, warnings, failed requests, violations of the content policy. */
  readonly complaints: string[] = [];
  readonly #send: (method: string, params?: Values) => Promise<Values>;

  constructor(wire: Wire, sessionId: string) {
    this.#send = (method, params) => wire.send(method, params, sessionId);
    wire.onEvent = (method, params) => this.#hear(method, params);
  }

  #hear(method: string, params: Values): void {
    const entry = params['entry'] as { readonly level: string; readonly text: string } | undefined;
    if (method === 'Runtime.exceptionThrown') this.complaints.push(JSON.stringify(params['exceptionDetails']));
    if (method === 'Runtime.consoleAPICalled' && (params['type'] === 'error' || params['type'] === 'warning')) {
      this.complaints.push(JSON.stringify(params['args']));
    }
    if (entry?.level === 'error' || entry?.level === 'warning') this.complaints.push(entry.text);
  }

  async open(url: string): Promise<void> {
    for (const domain of ['Page', 'Runtime', 'Log']) await this.#send(`${domain}.enable`);
    await this.#send('Page.navigate', { url });
  }

  async look({ width, height, scheme }: Looks): Promise<void> {
    await this.#send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
    const features = [
      { name: 'prefers-color-scheme', value: scheme },
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ];
    await this.#send('Emulation.setEmulatedMedia', { features });
  }

  /** The value of an expression on the page. */
  async value<T>(expression: string): Promise<T> {
    const answer = await this.#send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    if (answer['exceptionDetails'] !== undefined) throw new Error(JSON.stringify(answer['exceptionDetails']));
    return (answer['result'] as { readonly value: T }).value;
  }

  /** Waits until an expression is true on the page. */
  async until(expression: string, withinMs = 60_000): Promise<void> {
    const deadline = Date.now() + withinMs;
    while (!(await this.value<boolean>(`Boolean(${expression})`))) {
      if (Date.now() > deadline) throw new Error(`it never came true: ${expression}`);
      await sleep(50);
    }
  }

  /** Presses a key with a name. */
  async press(name: string): Promise<void> {
    const key = namedKeys[name] ?? {};
    await this.#send('Input.dispatchKeyEvent', { type: 'keyDown', ...key });
    await this.#send('Input.dispatchKeyEvent', { type: 'keyUp', ...key });
  }

  /** Types text into whatever has the focus. */
  async type(text: string): Promise<void> {
    for (const key of text) {
      await this.#send('Input.dispatchKeyEvent', { type: 'keyDown', key, text: key });
      await this.#send('Input.dispatchKeyEvent', { type: 'keyUp', key });
    }
  }

  /** Goes on with Tab until what has the focus matches a selector. */
  async tabTo(selector: string, most = 150): Promise<void> {
    for (let n = 0; n < most; n += 1) {
      await this.press('Tab');
      if (await this.value<boolean>(`document.activeElement.matches(${JSON.stringify(selector)})`)) return;
    }
    throw new Error(`${selector} cannot be reached with Tab`);
  }

  /** A picture of the page from its top to its end, or of a part of it. */
  async picture(path: string, part?: { x: number; y: number; width: number; height: number }): Promise<void> {
    const clip = part === undefined ? {} : { clip: { ...part, scale: 1 } };
    const { data } = await this.#send('Page.captureScreenshot', { captureBeyondViewport: true, ...clip });
    await writeFile(path, Buffer.from(String(data), 'base64'));
  }
}

/** A browser with one page. */
export interface Browser {
  readonly page: Page;
  close(): Promise<void>;
}

/** Starts a browser in a folder of its own. */
export async function startBrowser(program: string): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'apphosting-browser-'));
  const child = spawn(program, [...flags, `--user-data-dir=${profile}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  const wire = new Wire(child);
  const { targetInfos } = (await wire.send('Target.getTargets')) as {
    targetInfos: { type: string; targetId: string }[];
  };
  const known = targetInfos.find(({ type }) => type === 'page')?.targetId;
  const targetId = known ?? (await wire.send('Target.createTarget', { url: 'about:blank' }))['targetId'];
  const { sessionId } = await wire.send('Target.attachToTarget', { targetId, flatten: true });
  const close = async () => {
    await wire.send('Browser.close').catch(() => undefined);
    await Promise.race([ended, sleep(5000)]);
    child.kill('SIGKILL');
    await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  return { page: new Page(wire, String(sessionId)), close };
}
