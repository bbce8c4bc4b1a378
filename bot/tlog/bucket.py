"""The files of a log in an S3-compatible bucket, which sees to it that a file is created once, and exchanged only as it was read."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

NOT_INSTALLED = "a bucket needs one package: pip install boto3"
_NOT_THERE = {"404", "NoSuchKey"}
_OTHERWISE = {"412", "PreconditionFailed"}


def is_bucket(place: str) -> bool:
    """Whether this is the address of a bucket, and not a folder."""
    return place.startswith("s3://")


@dataclass(frozen=True)
class Bucket:
    """Files below a prefix of a bucket. Every method blocks, and raises OSError when it is not served."""

    name: str
    prefix: str
    client: Any = field(repr=False)
    """Of boto3. Threads may share it."""

    @classmethod
    def open(cls, address: str) -> "Bucket":
        """Open `s3://bucket/prefix`. Credentials, region and endpoint are what boto3 finds in the environment.

        Raises:
            OSError: when boto3 is not installed, or the address names no bucket.
        """
        try:
            import boto3  # noqa: PLC0415  # an extra
            from botocore.config import Config  # noqa: PLC0415  # likewise
        except ImportError as error:
            raise OSError(NOT_INSTALLED) from error
        where = urlsplit(address)
        if not where.netloc:
            raise OSError(f"{address} names no bucket: write s3://bucket/prefix")
        config = Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 3})
        return cls(where.netloc, where.path.strip("/"), boto3.client("s3", config=config))

    def below(self, folder: str) -> "Bucket":
        """Return the files in a folder of it."""
        return Bucket(self.name, self._key(folder), self.client)

    def read(self, path: str) -> bytes | None:
        """Return a file, `None` when there is none."""
        found = self._read(path)
        return found[0] if found else None

    def put(self, path: str, data: bytes) -> None:
        """Write a file whole, in place of what may be there."""
        self._ask("put_object", Key=self._key(path), Body=data)

    def create(self, path: str, data: bytes) -> bool:
        """Write a file whole, unless there is one. Returns whether it was written."""
        return self._put_if(path, data, IfNoneMatch="*")

    def swap(self, path: str, before: bytes | None, after: bytes) -> bool:
        """Write a file whole, if it is still as it was read. Returns whether it was written."""
        if before is None:
            return self.create(path, after)
        found = self._read(path)
        return found is not None and found[0] == before and self._put_if(path, after, IfMatch=found[1])

    def names(self, folder: str) -> list[str]:
        """Give the names of the files and folders in a folder, in order."""
        start, found, more = f"{self._key(folder)}/".lstrip("/"), list[str](), dict[str, str]()
        while True:
            page = self._ask("list_objects_v2", Prefix=start, Delimiter="/", **more)
            found += [each["Key"] for each in page.get("Contents", ())]
            found += [each["Prefix"] for each in page.get("CommonPrefixes", ())]
            if not page.get("IsTruncated"):
                return sorted(key.removeprefix(start).rstrip("/") for key in found)
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def _read(self, path: str) -> tuple[bytes, str] | None:
        """Return a file and its version."""
        try:
            answer = self._ask("get_object", Key=self._key(path))
        except FileNotFoundError:
            return None
        return answer["Body"], str(answer["ETag"])

    def _put_if(self, path: str, data: bytes, **condition: str) -> bool:
        try:
            self._ask("put_object", Key=self._key(path), Body=data, **condition)
        except (FileExistsError, FileNotFoundError):
            return False
        return True

    def _ask(self, operation: str, **given: Any) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # an extra

        try:
            answer: dict[str, Any] = getattr(self.client, operation)(Bucket=self.name, **given)
            return {**answer, "Body": answer["Body"].read()} if "Body" in answer else answer
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code"))
            sentence = f"the bucket {self.name} refused {operation}: {error}"
            if code in _NOT_THERE:
                raise FileNotFoundError(sentence) from error
            if code in _OTHERWISE:
                raise FileExistsError(sentence) from error
            raise OSError(sentence) from error
        except BotoCoreError as error:
            raise OSError(f"the bucket {self.name} does not answer {operation}: {error}") from error

    def _key(self, path: str) -> str:
        return f"{self.prefix}/{path}".strip("/")
