# One image for every service; the command says which one runs.
FROM python:3.13-slim AS build
RUN python -m venv /opt/caseops
ENV PATH=/opt/caseops/bin:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
COPY requirements/build.txt requirements/core.txt /src/requirements/
RUN pip install --require-hashes -r /src/requirements/build.txt \
    && pip install --require-hashes -r /src/requirements/core.txt
COPY . /src
RUN pip install --no-build-isolation --no-deps /src

FROM python:3.13-slim
RUN useradd --system --uid 10001 --home-dir /data --create-home caseops
COPY --from=build /opt/caseops /opt/caseops
ENV PATH=/opt/caseops/bin:$PATH PYTHONUNBUFFERED=1 CASEOPS_DATA_DIR=/data
USER 10001
WORKDIR /data
ENTRYPOINT ["caseops"]
CMD ["--help"]
