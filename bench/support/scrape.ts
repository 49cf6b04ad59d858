import { request } from 'undici';

/** One line of a metrics page. */
interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The operator's own metrics. */
export class Scrape {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** The sum of a metric over the series that have these labels; 0 when there are none. */
  async sum(wanted: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    return sumOf(await this.all(), wanted, labels);
  }

  /** Every sample; none while the operator does not answer. */
  async all(): Promise<readonly Sample[]> {
    try {
      const { body } = await request(`${this.#url}/metrics`, { signal: AbortSignal.timeout(10_000) });
      return (await body.text()).split('\n').flatMap(parsed);
    } catch {
      return [];
    }
  }
}

/** The sum over the samples of a metric that have these labels. */
export function sumOf(
  samples: readonly Sample[],
  wanted: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  return samples
    .filter(({ name }) => name === wanted)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((total, { value }) => total + value, 0);
}

function parsed(line: string): readonly Sample[] {
  const found = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/u.exec(line);
  if (found === null) return [];
  const [, name = '', pairs = '', value = ''] = found;
  const labels = Object.fromEntries(
    [...pairs.matchAll(/([a-z_]+)="([^"]*)"/gu)].map(([, label = '', text = '']) => [label, text]),
  );
  return [{ name, labels, value: Number(value) }];
}
